"""The grader's two kinds of error; a student's fault is neither (it is a value, an `Answer`)."""


class UsageError(Exception):
    """The person at the command line asked for something that can't be done; the text tells them.

    Exit status 2. The message says what was expected, what was found, and what to do next.
    """


class GraderFault(Exception):
    """The grader itself failed. It never costs a student a mark: the item is "not graded"."""
