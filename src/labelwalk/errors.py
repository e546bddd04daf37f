"""The base of all exceptions that labelwalk defines."""


class LabelwalkError(Exception):
    """Base class: `except LabelwalkError` catches every exception type of this package.

    Each type also has a built-in base, such as ValueError or OSError. Wrong arguments raise plain
    ValueError and TypeError.
    """
