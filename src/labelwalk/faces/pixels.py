"""A face as its pixels, so that distances are differences of greys."""

from __future__ import annotations

import cv2
import numpy as np
from scipy.fft import dctn, idctn

from labelwalk.arrays import Floats
from labelwalk.faces.image import Image, check_image
from labelwalk.faces.profiles import PIXELS, Profile
from labelwalk.parameters import check_whole

FINE = 64  # pixels: faces are smoothed at least this large, and averaged after
SMOOTH = 1 / 32  # of a side
CENTRE = 0.5  # of half a side: how fast weights fall away from the centre
FAINT = 0.3  # of the largest: pixels that weigh less are shown darker than they were
SPREAD = 4.0  # of the shades that are shown of a standardised face
WAVES = 24  # each way; what is finer, smoothing has taken out


class Pixels:
    """Greys of a face, equalised, smoothed and weighted.

    The Euclidean distance of two vectors is the root of the mean squared difference of their
    pixels, for greys from 0 to 1, in which pixels near the centre weigh more. So no two faces are
    more than 1 apart, whatever the side, and a heat parameter of 0.025 means a fortieth of the way
    from black to white.

    What is kept are not the pixels but their longest waves (a discrete cosine transform, which
    leaves distances as they are): after smoothing the others hold next to nothing, and 576 numbers
    are as good as the 9216 pixels of a side of 96. Distances come out a trifle smaller, never
    larger.

    Equalised, a grey is the share of pixels that are no brighter. It does not change with the
    light, as long as brighter stays brighter all over the face; light from one side is not undone.

    Parameters
    ----------
    side : int
        Pixels a side.
    invariant : bool
        Whether to centre each face and divide it by its spread in place of equalising it, so that
        brightness and contrast do not count, and shades between them keep their proportions.

        What is lost: a difference of greys no longer bounds the distance. As a function of
        pictures it is a pseudometric, in which a picture and its paler copy are at distance 0;
        faces are up to 2 apart; and noise in a nearly even face is blown up with it. A face that
        is all one grey becomes the zero vector, 1 apart from every other.
    weighted : bool
        Whether pixels near the centre weigh more: what is behind a face is in the corners of its
        box.

    Examples
    --------
    >>> face = np.zeros((64, 64, 3), dtype=np.uint8)
    >>> face[:, 32:] = 200
    >>> bright = face + np.uint8(55)
    >>> as_vector = Pixels()
    >>> as_vector(face).shape
    (576,)
    >>> float(np.linalg.norm(as_vector(face) - as_vector(bright)))
    0.0
    """

    margin = 0.0

    def __init__(self, side: int = 96, *, invariant: bool = False, weighted: bool = True) -> None:
        check_whole("side", side, "96 or 32", least=4, most=256)
        self.side, self.invariant, self.weighted = side, invariant, weighted
        self._weights = _weights(side, CENTRE if weighted else None)
        self._roots = np.sqrt(self._weights)

    @property
    def profile(self) -> Profile | None:
        """How these vectors are compared; None for those that were not tried."""
        return PIXELS if self.weighted and not self.invariant else None

    @property
    def name(self) -> str:
        """What the vectors are called; those of one name can be compared."""
        kind = "invariant pixels" if self.invariant else "pixels"
        return f"{kind} {self.side}" + ("" if self.weighted else ", unweighted")

    def __call__(self, image: Image) -> Floats:
        """Return the vector of a picture that shows a face and nothing else."""
        check_image(image)
        grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
        blocks = -(-FINE // self.side)
        grey = _resized(np.asarray(grey, np.uint8), self.side * blocks)
        shades = grey / 255.0 if self.invariant else _equalised(grey)
        deviation = SMOOTH * len(shades)
        smooth = cv2.GaussianBlur(shades, (0, 0), deviation, borderType=cv2.BORDER_REFLECT)
        small = _averaged(np.asarray(smooth, np.float64), blocks)
        if self.invariant:
            small = _standardised(small, self._weights)
        waves = dctn(small * self._roots, norm="ortho")
        return np.asarray(waves[:WAVES, :WAVES], np.float64).ravel()

    def picture(self, vector: Floats) -> Image:
        """Return what a vector looks like: the face, a little blurred, in greys.

        Parameters
        ----------
        vector : array
            One that this representation made, or a mean of such.
        """
        waves = np.zeros((self.side, self.side))
        kept = min(WAVES, self.side)
        waves[:kept, :kept] = vector.reshape(kept, kept)
        shades = idctn(waves, norm="ortho") / np.maximum(self._roots, FAINT * self._roots.max())
        if self.invariant:
            shades = 0.5 + shades / SPREAD
        grey = (255.0 * shades).round().clip(0.0, 255.0).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)


def _weights(side: int, centre: float | None) -> Floats:
    """Return weights that add up to 1."""
    if centre is None:
        return np.full((side, side), 1.0 / side**2)
    from_centre = (2.0 * np.arange(side) + 1.0) / side - 1.0
    falling = np.exp(-(from_centre**2) / (2.0 * centre**2))
    weights: Floats = np.outer(falling, falling)
    weights /= weights.sum()
    return weights


def _resized(grey: Image, side: int) -> Image:
    if grey.shape == (side, side):
        return grey
    how = cv2.INTER_AREA if min(grey.shape) > side else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(grey, (side, side), interpolation=how), np.uint8)


def _equalised(grey: Image) -> Floats:
    """Replace each grey by the share of pixels that are no brighter."""
    shares: Floats = np.cumsum(np.bincount(grey.ravel(), minlength=256)) / grey.size
    return shares[grey]


def _averaged(shades: Floats, blocks: int) -> Floats:
    if blocks == 1:
        return shades
    side = len(shades) // blocks
    means: Floats = shades.reshape(side, blocks, side, blocks).mean(axis=(1, 3))
    return means


def _standardised(shades: Floats, weights: Floats) -> Floats:
    """Centre a face, and divide it by its spread; zero where it has none but rounding."""
    centred = shades - (weights * shades).sum()
    spread = float(np.sqrt((weights * centred**2).sum()))
    return centred / spread if spread > 1e-9 else np.zeros_like(centred)
