"""What is not there, where faces are asked for."""

from __future__ import annotations


class NobodyError(LookupError):
    """There is nobody of that name or number, or no such picture."""


class FacesOffError(LookupError):
    """The service was started without faces."""

    def __init__(self) -> None:
        super().__init__("faces are off. Start the service with --faces pixels or --faces dlib.")


class NoSourceError(LookupError):
    """The service was started without a camera of its own."""

    def __init__(self) -> None:
        super().__init__("the service has no camera of its own. Start it with --watch SOURCE.")


class NoFrameError(OSError):
    """The camera of the service gives no frames now; says why."""
