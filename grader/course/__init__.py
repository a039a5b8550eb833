"""Courses that run on nbgrader: the course tree, and what grades its notebooks in `autograde`."""
