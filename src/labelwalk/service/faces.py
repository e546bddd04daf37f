"""Faces in the service: who looks at frames, and a camera of its own if it has one."""

from __future__ import annotations

from dataclasses import dataclass

from labelwalk.service.cameras import Cameras
from labelwalk.service.gallery import Gallery, called, crops_in, representation_in
from labelwalk.service.learner_store import LearnerStore
from labelwalk.service.watching import Watching


@dataclass(frozen=True)
class Faces:
    """Who looks, and at what without being asked."""

    cameras: Cameras
    watching: Watching | None = None

    def close(self) -> None:
        """Look no more, and do what waits."""
        if self.watching is not None:
            self.watching.close()
        self.cameras.close()


def faces_in(
    folder: str,
    store: LearnerStore,
    kind: str,
    *,
    watch: str | None = None,
    keep_crops: bool = False,
) -> Faces:
    """Return what looks at frames for the learner "faces" of a folder.

    Parameters
    ----------
    folder : str
    store : LearnerStore
        Of that folder.
    kind : str
        The representation; "auto": what the folder has, or else pixels.
    watch : str, optional
        A source that is watched without being asked.
    keep_crops : bool
        Whether pictures are written to the disk.

    Raises
    ------
    ValueError
        The folder has faces of another representation.
    SourceError
        The source cannot be opened.
    """
    wanted = (representation_in(store) or "pixels") if kind == "auto" else kind
    crops = crops_in(folder, store.cipher, are_kept=keep_crops)
    cameras = Cameras(Gallery(store, called(wanted), crops=crops))
    try:
        return Faces(cameras, None if watch is None else Watching(cameras, watch))
    except BaseException:
        cameras.close()
        raise
