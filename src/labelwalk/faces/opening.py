"""Which kind of source a name means, and that it can be used."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from labelwalk.faces.capture import Capture
from labelwalk.faces.frames import Source
from labelwalk.faces.image import SourceError
from labelwalk.faces.live import Live
from labelwalk.faces.pictures import PictureFolder
from labelwalk.faces.video import Video

ADDRESS = re.compile("(rtsp|rtsps|rtmp|http|https)://", re.I)
CAMERA = re.compile("[0-9]{1,3}|/dev/video[0-9]+")


def opened(where: str | os.PathLike[str]) -> Source:
    """Open a source of frames.

    Parameters
    ----------
    where : str or path
        A video file; a folder of pictures; a camera, as a number or as /dev/video0; or an address
        that begins with rtsp:// or http://. Cameras, and addresses that do not know their end, are
        live: they give the newest frame.

    Returns
    -------
    source : Source
        To be used in a `with`, and iterated over once.

    Raises
    ------
    SourceError
        There is no such thing, or it holds no frames.

    Examples
    --------
    >>> opened("nowhere.mp4")
    Traceback (most recent call last):
    labelwalk.faces.image.SourceError: nowhere.mp4: there is no such file or folder.
    """
    name = os.fspath(where)
    if ADDRESS.match(name):
        return _address(name)
    if CAMERA.fullmatch(name):
        return _camera(name)
    path = Path(name)
    if name and path.is_dir():
        return PictureFolder(path)
    if not path.is_file():
        raise SourceError(f"{name}: there is no such file or folder.")
    if not os.access(path, os.R_OK):
        raise SourceError(f"{name} may not be read by this user.")
    unusable = f"{name} is not a video that can be read, or its beginning is damaged."
    return Video(Capture(str(path.absolute()), name, unusable))


def _address(address: str) -> Source:
    name = _without_password(address)
    unusable = f"{name} does not answer with a video. See that it can be reached from here."
    capture = Capture(address, name, unusable)
    return Live(capture) if capture.n_frames is None else Video(capture)


def _camera(name: str) -> Source:
    where = int(name) if name.isdigit() else name
    unusable = f"there is no camera {name}, or another program uses it. Cameras are counted from 0."
    return Live(Capture(where, f"camera {name}", unusable))


def _without_password(address: str) -> str:
    """Return an address as it may be told: without a name and a password, or what follows a ?."""
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise SourceError(
            f"this is not an address ({error}). Write it as rtsp://host/path."
        ) from error
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))
