"""The only code that runs a student's code. It imports nothing of the grader but `wire`.

`parent` imports JAX once and forks a child per exercise file; `child` answers the grader's
requests; `loading` runs a submission's cells; `calling` calls its functions; `values` makes what
they return plain.
"""
