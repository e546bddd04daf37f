"""Faces over HTTP: frames in, names out, and everybody who was seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Path, Query, Request, Response

from labelwalk.faces.frames import NoFrameError, SourceError
from labelwalk.faces.people import UnknownPersonError, clean_name
from labelwalk.faces.schemas import ForgottenPerson, NamedFace, Sink, Undone
from labelwalk.service.worker import to_asyncio_future

if TYPE_CHECKING:  # these need OpenCV, which a service without faces may lack
    from labelwalk.faces.camera_worker import CameraWorker, FaceService, OwnCamera
    from labelwalk.faces.people_store import PeopleStore
    from labelwalk.service.erasure import ErasureResult

JPEG, FACES_HEADER = "image/jpeg", "x-labelwalk-faces"
MAX_EXAMPLE = 2**53  # JavaScript represents integers up to here exactly
MAX_LISTED_VIEWS = 12  # of a person


class FacesDisabledError(LookupError):
    """The service was started without faces."""

    def __init__(self) -> None:
        super().__init__("faces are off. Start the service with --faces pixels or --faces dlib.")


class NoCameraError(LookupError):
    """The service was started without a camera of its own."""

    def __init__(self) -> None:
        super().__init__("the service has no camera of its own. Start it with --watch SOURCE.")


STATUSES: dict[type[Exception], int] = {
    UnknownPersonError: 404,
    FacesDisabledError: 404,
    NoCameraError: 404,
    SourceError: 422,
    NoFrameError: 503,
}


def add_routes(
    app: FastAPI, service: FaceService | None, describe: Callable[[ErasureResult], Any]
) -> None:
    """Add the routes.

    Parameters
    ----------
    app : FastAPI
    service : FaceService or None
        None if faces are disabled.
    describe : function
        Makes the answer of an erasure.
    """

    def get_worker() -> CameraWorker:
        if service is None:
            raise FacesDisabledError
        return service.worker

    async def run(request: Callable[[PeopleStore], Any]) -> Any:
        return await to_asyncio_future(get_worker().submit(request))

    @app.get("/api/faces")
    async def everybody() -> Any:
        if service is None:
            return DISABLED
        return await run(_describe_people) | {"source": _describe_camera(service.own_camera)}

    @app.post("/api/faces/frames")
    async def frame(request: Request, camera: Annotated[str, Query(max_length=1000)]) -> Any:
        worker = get_worker()
        return await to_asyncio_future(worker.process_sent(camera, await request.body()))

    @app.get("/api/faces/view", response_class=Response)
    async def view() -> Response:
        get_worker()
        if service is None or service.own_camera is None:
            raise NoCameraError
        newest = service.own_camera.get_view()
        return Response(newest.picture, 200, {FACES_HEADER: json.dumps(newest.faces)}, JPEG)

    @app.get("/api/faces/pictures/{example}", response_class=Response)
    async def picture(example: Annotated[int, Path(ge=0, le=MAX_EXAMPLE)]) -> Response:
        return Response(await run(lambda people: people.picture(example)), media_type=JPEG)

    @app.post("/api/faces/name")
    async def name(face: NamedFace) -> Any:
        name = clean_name(face.name)
        examples = await to_asyncio_future(get_worker().name(face.example, name))
        return {"name": name, "examples": examples}

    @app.post("/api/faces/undo")
    async def undo(wrong: Undone) -> Any:
        return {"undone": await run(lambda people: people.undo(wrong.examples))}

    @app.post("/api/faces/forget")
    async def forget(who: ForgottenPerson) -> Any:
        return describe(await run(lambda people: _forget(people, who)))

    @app.get("/api/faces/sink")
    async def see_sink() -> Any:
        return await run(_describe_sink)

    @app.post("/api/faces/sink")
    async def set_sink(wanted: Sink) -> Any:
        def change(people: PeopleStore) -> dict[str, Any]:
            warning = people.recognizer.set_sink(wanted.sink)
            return _describe_sink(people) | {"warning": warning}

        return await run(change)


DISABLED: dict[str, Any] = {
    "on": False,
    "representation": None,
    "keeps_crops": False,
    "people": [],
    "strangers": [],
    "examples": 0,
    "vertices": 0,
    "source": None,
}


def _describe_people(people: PeopleStore) -> dict[str, Any]:
    recognizer = people.recognizer
    persons, strangers = recognizer.known(), recognizer.strangers()
    return {
        "on": True,
        "representation": people.managed.notes["representation"],
        "keeps_crops": people.crops.are_kept,
        "people": [
            {
                "name": person.name,
                "taught": person.taught,
                "examples": person.examples,
                "views": person.views[:MAX_LISTED_VIEWS],
            }
            for person in persons
        ],
        "strangers": [
            {
                "number": stranger.number,
                "examples": stranger.examples,
                "newest": None if stranger.newest < 0 else stranger.newest,
                "views": stranger.views[:MAX_LISTED_VIEWS],
            }
            for stranger in strangers
        ],
        "examples": people.managed.next_example_id,
        "vertices": recognizer.learner.n_vertices,
    }


def _describe_camera(camera: OwnCamera | None) -> dict[str, Any] | None:
    return None if camera is None else {"name": camera.name, "error": camera.error}


def _forget(people: PeopleStore, who: ForgottenPerson) -> ErasureResult:
    if who.name is not None and who.stranger is None:
        return people.forget(who.name)
    if who.stranger is not None and who.name is None:
        return people.forget_stranger(who.stranger)
    raise ValueError("give a name or the number of a stranger, one of the two.")


def _describe_sink(people: PeopleStore) -> dict[str, Any]:
    recognizer = people.recognizer
    sweep = recognizer.survey()
    return {
        "sink": recognizer.sink,
        "automatic": recognizer.automatic,
        "cliff": None if sweep is None else sweep.cliff,
        "chosen": None if sweep is None else sweep.chosen,
        "sinks": [] if sweep is None else sweep.sinks.tolist(),
        "claimed": [] if sweep is None else sweep.claimed.tolist(),
    }
