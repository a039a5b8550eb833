"""Exact answers and how far a right float32 program may be from them. Secret; no JAX, no I/O."""
