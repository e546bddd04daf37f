"""The folder a job writes to: whose it is, where work lies meanwhile, and when all is there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from labelwalk.distributed.places import Found, Place, blamed, check_unchanged
from labelwalk.distributed.whole import write_whole
from labelwalk.io.rows import InputError

WORK, BEGUN, END = ".labelwalk", "job.json", "_labelwalk.json"


class Output:
    """A folder for one job; the same job goes on there, and no other.

    Parameters
    ----------
    name : str
        As the user calls it.
    place : Place
    told : bytes
        All that the bytes of the output depend on.
    files : sequence of Found
        The input, whose names the output has.
    """

    def __init__(self, name: str, place: Place, told: bytes, files: Sequence[Found]) -> None:
        self.place, self._name, self._told, self._files = place, name, told, files
        self._sign = hashlib.sha256(told).hexdigest()
        self._works, self._end = place / WORK, place / END
        self.work = self._works / self._sign[:16]

    def begin(self) -> dict[str, Any] | None:
        """Begin, or go on; return what `finish` was given where all is there.

        Raises
        ------
        InputError
            There is something else in the folder.
        """
        with blamed(self._name):
            done = self.done()
            begun = (self.work / BEGUN).is_there() and not self._end.is_there()
            free = not self._holds_more()
        if done is not None:
            self._tidy_up()
            return done
        if begun:
            return None
        if free:  # nothing was finished, by whoever began here before
            self._tidy_up()
            write_whole(self.work / BEGUN, lambda out: out.write(self._told))
            return None
        raise InputError(
            f"{self._name} holds something else: files of another job, of one with other files, "
            "settings or labelwalk, or not all of them any more. Choose an empty folder, or remove "
            "this one."
        )

    def done(self) -> dict[str, Any] | None:
        """Return what `finish` was given, by whichever command, where all is there."""
        told = json.loads(self._end.read()) if self._end.is_there() else {}
        whole = told.get("sign") == self._sign and self._all_there()
        return told["outcome"] if whole else None

    def finish(self, outcome: dict[str, Any]) -> None:
        """Say that all is there, and remove what only served that.

        Raises
        ------
        InputError
            A file of the input is not what it was, or another job writes to the same folder.
        """
        check_unchanged(self._files)
        if self._works.inside() != [self._sign[:16]]:
            raise InputError(
                f"{self._name}: another job writes there too. Remove it, and give each job a "
                "folder of its own."
            )
        told = json.dumps({"sign": self._sign, "outcome": outcome}).encode()
        write_whole(self._end, lambda out: out.write(told), self.work)
        self._tidy_up()

    def _tidy_up(self) -> None:
        """Remove what lies there for work, as far as nobody else does that or goes on with it."""
        with suppress(OSError):
            self._works.remove()

    def _all_there(self) -> bool:
        return all((self.place / file.name).is_there() for file in self._files)

    def _holds_more(self) -> bool:
        return any(not name.startswith(".") for name in self.place.inside())
