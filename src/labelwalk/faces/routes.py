"""Faces over HTTP: frames in, names out, and everybody who was met."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response

from labelwalk.faces.absent import FacesOffError, NobodyError, NoFrameError, NoSourceError
from labelwalk.faces.image import SourceError
from labelwalk.faces.names import plain
from labelwalk.faces.schemas import ForgottenPerson, NamedFace, Sink, Undone
from labelwalk.service.worker import to_asyncio_future

if TYPE_CHECKING:  # OpenCV is there where faces are
    from labelwalk.faces.camera_worker import Cameras, Faces, Watching
    from labelwalk.faces.people_store import Gallery
    from labelwalk.service.erasure import ErasureResult

JPEG, WHO = "image/jpeg", "x-labelwalk-faces"
FARTHEST = 2**53  # numbers that JavaScript holds exactly
SHOWN = 12  # views of a person
STATUSES: dict[type[Exception], int] = {
    NobodyError: 404,
    FacesOffError: 404,
    NoSourceError: 404,
    SourceError: 422,
    NoFrameError: 503,
}


def add_routes(app: FastAPI, faces: Faces | None, meaning: Callable[[ErasureResult], Any]) -> None:
    """Add the routes.

    Parameters
    ----------
    app : FastAPI
    faces : Faces or None
        None where faces are off.
    meaning : function
        What is answered where something was erased.
    """

    def cameras() -> Cameras:
        if faces is None:
            raise FacesOffError
        return faces.cameras

    @app.get("/api/faces")
    async def everybody() -> Any:
        if faces is None:
            return NOTHING
        return await to_asyncio_future(faces.cameras.ask(_overview)) | {
            "source": _source(faces.watching)
        }

    @app.post("/api/faces/frames")
    async def frame(request: Request, camera: Annotated[str, Query(max_length=1000)]) -> Any:
        return await to_asyncio_future(cameras().look(camera, await request.body()))

    @app.get("/api/faces/view", response_class=Response)
    async def view() -> Response:
        cameras()
        if faces is None or faces.watching is None:
            raise NoSourceError
        newest = faces.watching.view()
        return Response(newest.picture, 200, {WHO: json.dumps(newest.told)}, JPEG)

    @app.get("/api/faces/pictures/{example}", response_class=Response)
    async def picture(example: Annotated[int, Path(ge=0, le=FARTHEST)]) -> Response:
        found = await to_asyncio_future(cameras().ask(lambda gallery: gallery.picture(example)))
        return Response(found, media_type=JPEG)

    @app.post("/api/faces/name")
    async def name(face: NamedFace) -> Any:
        name = plain(face.name)
        return {
            "name": name,
            "examples": await to_asyncio_future(cameras().name(face.example, name)),
        }

    @app.post("/api/faces/undo")
    async def undo(wrong: Undone) -> Any:
        done = await to_asyncio_future(cameras().ask(lambda gallery: gallery.undo(wrong.examples)))
        return {"undone": done}

    @app.post("/api/faces/forget")
    async def forget(who: ForgottenPerson) -> Any:
        return meaning(
            await to_asyncio_future(cameras().ask(lambda gallery: _forgotten(gallery, who)))
        )

    @app.get("/api/faces/sink")
    async def see_sink() -> Any:
        return await to_asyncio_future(cameras().ask(_survey))

    @app.post("/api/faces/sink")
    async def set_sink(wanted: Sink) -> Any:
        return await to_asyncio_future(cameras().ask(lambda gallery: _set_sink(gallery, wanted)))


NOTHING: dict[str, Any] = {
    "on": False,
    "representation": None,
    "keeps_crops": False,
    "people": [],
    "strangers": [],
    "examples": 0,
    "vertices": 0,
    "source": None,
}


def _overview(gallery: Gallery) -> dict[str, Any]:
    recognizer = gallery.recognizer
    people, strangers = recognizer.known(), recognizer.strangers()
    return {
        "on": True,
        "representation": gallery.pupil.notes["representation"],
        "keeps_crops": gallery.crops.are_kept,
        "people": [
            {
                "name": one.name,
                "taught": one.taught,
                "examples": one.examples,
                "views": one.views[:SHOWN],
            }
            for one in people
        ],
        "strangers": [
            {
                "number": one.number,
                "examples": one.examples,
                "newest": None if one.newest < 0 else one.newest,
                "views": one.views[:SHOWN],
            }
            for one in strangers
        ],
        "examples": gallery.pupil.next_example_id,
        "vertices": recognizer.learner.n_vertices,
    }


def _source(watching: Watching | None) -> dict[str, Any] | None:
    return None if watching is None else {"name": watching.name, "error": watching.error}


def _forgotten(gallery: Gallery, who: ForgottenPerson) -> ErasureResult:
    if (who.name is None) == (who.stranger is None):
        raise ValueError("give a name or the number of a stranger, one of the two.")
    if who.name is not None:
        return gallery.forget(who.name)
    assert who.stranger is not None
    return gallery.forget_stranger(who.stranger)


def _survey(gallery: Gallery) -> dict[str, Any]:
    recognizer = gallery.recognizer
    found = recognizer.survey()
    return {
        "sink": recognizer.sink,
        "automatic": recognizer.automatic,
        "cliff": None if found is None else found.cliff,
        "chosen": None if found is None else found.chosen,
        "sinks": [] if found is None else found.sinks.tolist(),
        "claimed": [] if found is None else found.claimed.tolist(),
    }


def _set_sink(gallery: Gallery, wanted: Sink) -> dict[str, Any]:
    warning = gallery.recognizer.set_sink(wanted.sink)
    return _survey(gallery) | {"warning": warning}
