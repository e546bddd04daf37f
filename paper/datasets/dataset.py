"""What a data set is."""

from __future__ import annotations

from dataclasses import dataclass

from labelwalk.arrays import Floats, Ints

OUTSIDER = -1  # of no class: the right answer is none


class DataMissingError(LookupError):
    """A data set is neither in the data folder nor to be had otherwise; the message says where."""


@dataclass(frozen=True)
class Dataset:
    """Rows and their classes.

    Attributes
    ----------
    name : str
    X : (n, d) array
    y : (n,) array of int
        Class of each row, counted from 0, or `OUTSIDER` where it belongs to none.
    in_time : bool
        Whether the order of the rows is that in which they happened.
    note : str
        What it is, and what was done to it.
    """

    name: str
    X: Floats
    y: Ints
    in_time: bool
    note: str

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.y.max()) + 1
