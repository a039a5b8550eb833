"""Checks that ship to students: worked examples, and properties that need no answer to state."""
