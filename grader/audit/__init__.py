"""How good the grader is, measured: `grader audit`, a maintainer's tool that needs the clone."""
