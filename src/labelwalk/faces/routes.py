"""Faces over HTTP: the routes with their permissions, schemas and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from pydantic import BaseModel, Field

from labelwalk.errors import LabelwalkError
from labelwalk.faces.frames import NoFrameError, SourceError
from labelwalk.faces.recognizer import Person, Stranger, UnknownPersonError, clean_name
from labelwalk.service import schemas
from labelwalk.service.schemas import COUNT, TEXT, Schema, array, nullable, number, record, ref
from labelwalk.service.worker import to_asyncio_future

if TYPE_CHECKING:  # two need OpenCV, which a service may lack, and the third needs this module
    from labelwalk.faces.camera_worker import CameraWorker
    from labelwalk.faces.people_store import PeopleStore
    from labelwalk.service.openapi import RouteTable

JPEG, FACES_HEADER = "image/jpeg", "x-labelwalk-faces"
MAX_LISTED_VIEWS = 12  # of a person


class FacesUnavailableError(LabelwalkError, LookupError):
    """The service was started without faces, or without a camera."""


_POSITIVE, _NOT_NEGATIVE = number(0, is_above=True), number(0)
_BOX: Schema = {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 4}
_SINK: Schema = {
    "sink": _NOT_NEGATIVE,
    "automatic": schemas.BOOLEAN,
    "cliff": nullable(_POSITIVE),
    "chosen": nullable(_POSITIVE),
    "sinks": array(_POSITIVE),
    "claimed": array(schemas.SHARE),
}
SCHEMAS: dict[str, Schema] = {
    "Everybody": record(
        on=schemas.BOOLEAN,
        representation=nullable(TEXT),
        keeps_crops=schemas.BOOLEAN,
        people=array(ref("Person")),
        strangers=array(ref("Stranger")),
        examples=COUNT,
        vertices=COUNT,
        source=nullable(record(name=TEXT, error=nullable(TEXT))),
    ),
    "Person": record(name=TEXT, taught=COUNT, examples=COUNT, views=array(COUNT)),
    "Stranger": record(
        number=schemas.POSITIVE_INTEGER, examples=COUNT, newest=nullable(COUNT), views=array(COUNT)
    ),
    "Frame": record(
        width=schemas.POSITIVE_INTEGER,
        height=schemas.POSITIVE_INTEGER,
        faces=array(ref("Face")),
        milliseconds=_NOT_NEGATIVE,
    ),
    "Face": record(
        box=_BOX,
        track=schemas.POSITIVE_INTEGER,
        name=nullable(TEXT),
        stranger=nullable(schemas.POSITIVE_INTEGER),
        confidence=schemas.NUMBER,
        example=COUNT,
    ),
    "NamedViews": record(name=TEXT, examples=array(COUNT)),
    "UndoneViews": record(undone=schemas.POSITIVE_INTEGER),
    "SinkTold": record(**_SINK),
    "SinkSet": record(**_SINK, warning=nullable(TEXT)),
}


class NamedFace(BaseModel):
    """The name of a face."""

    model_config = schemas.make_config({"example": 1203, "name": "Ada"})
    example: schemas.ExampleId
    name: Annotated[str, Field(min_length=1, max_length=100)]


class Undone(BaseModel):
    """Faces whose names are removed."""

    model_config = schemas.make_config({"examples": [1203, 1190]})
    examples: list[schemas.ExampleId] = Field(min_length=1, max_length=100)


class ForgottenPerson(BaseModel):
    """A person to erase by name, or a stranger by number."""

    model_config = schemas.make_config({"name": "Ada"})
    name: str | None = None
    stranger: int | None = Field(None, ge=1, lt=2**62)


class Sink(BaseModel):
    """The sink as a number, or chosen automatically."""

    model_config = schemas.make_config({"sink": "auto"})
    sink: Literal["auto"] | float


STATUSES: dict[type[Exception], int] = {
    UnknownPersonError: 404,
    FacesUnavailableError: 404,
    SourceError: 422,
    NoFrameError: 503,
}


def add_routes(table: RouteTable, worker: CameraWorker | None) -> None:
    """Add the routes."""

    def get_worker() -> CameraWorker:
        if worker is None:
            raise FacesUnavailableError(
                "Faces are disabled. Start the service with --faces pixels or --faces dlib."
            )
        return worker

    async def run(request: Callable[[PeopleStore], Any]) -> Any:
        return await to_asyncio_future(get_worker().submit(request))

    @table.add("GET", "/api/faces", "read", ref("Everybody"), errors=(404,))
    async def everybody() -> Any:
        """List people and strangers."""
        if worker is None:
            return DISABLED
        camera = worker.own_camera
        source = None if camera is None else {"name": camera.name, "error": camera.error}
        return await run(_describe_people) | {"source": source}

    @table.add("POST", "/api/faces/frames", "write", ref("Frame"), body="Picture", errors=(404,))
    async def frame(request: Request, camera: Annotated[str, Query(max_length=1000)]) -> Any:
        """Recognize the faces in a camera frame: a JPEG, PNG or WebP."""
        running = get_worker()
        return await to_asyncio_future(running.process_sent(camera, await request.body()))

    @table.add("GET", "/api/faces/view", "read", {}, JPEG, errors=(404,))
    async def view() -> Response:
        """Get the newest frame of the camera of the service; a header lists the faces."""
        own_camera = get_worker().own_camera
        if own_camera is None:
            raise FacesUnavailableError("The service has no camera. Start it with --watch SOURCE.")
        picture, faces = own_camera.get_view()
        return Response(picture, 200, {FACES_HEADER: json.dumps(faces)}, JPEG)

    @table.add("GET", "/api/faces/pictures/{example}", "read", {}, JPEG, errors=(404, 422))
    async def picture(example: Annotated[int, Path(ge=0, le=schemas.MAX_SAFE_INTEGER)]) -> Response:
        """Get the picture of a face."""
        return Response(await run(lambda people: people.picture(example)), media_type=JPEG)

    @table.add("POST", "/api/faces/name", "write", ref("NamedViews"), errors=(404,))
    async def name(face: NamedFace) -> Any:
        """Name a face and a few views on its track."""
        name = clean_name(face.name)
        examples = await to_asyncio_future(get_worker().name(face.example, name))
        return {"name": name, "examples": examples}

    @table.add("POST", "/api/faces/undo", "write", ref("UndoneViews"), errors=(404,))
    async def undo(wrong: Undone) -> Any:
        """Remove the names of faces."""
        return {"undone": await run(lambda people: people.undo(wrong.examples))}

    @table.add("POST", "/api/faces/forget", "write", ref("Erased"), errors=(404,))
    async def forget(body: ForgottenPerson) -> Any:
        """Erase a person or a stranger with all views that are assigned to them."""
        given = [who for who in (body.name, body.stranger) if who is not None]
        if len(given) != 1:
            raise ValueError("Give either a name or the number of a stranger.")
        return (await run(lambda people: people.forget(given[0]))).describe()

    @table.add("GET", "/api/faces/sink", "read", ref("SinkTold"), errors=(404,))
    async def see_sink() -> Any:
        """Get the sink, and how it was chosen."""
        return await run(_describe_sink)

    @table.add("POST", "/api/faces/sink", "write", ref("SinkSet"), errors=(404,))
    async def set_sink(body: Sink) -> Any:
        """Set the sink: how far names spread."""

        def change(people: PeopleStore) -> dict[str, Any]:
            warning = people.recognizer.set_sink(body.sink)
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
        "people": [_describe_person(person) for person in persons],
        "strangers": [
            _describe_person(each) | {"newest": each.newest if each.newest >= 0 else None}
            for each in strangers
        ],
        "examples": people.managed.next_example_id,
        "vertices": recognizer.learner.n_vertices,
    }


def _describe_person(person: Person | Stranger) -> dict[str, Any]:
    return asdict(person) | {"views": person.views[:MAX_LISTED_VIEWS]}


def _describe_sink(people: PeopleStore) -> dict[str, Any]:
    recognizer = people.recognizer
    sweep = recognizer.survey()
    fields: dict[str, Any] = {"cliff": None, "chosen": None, "sinks": [], "claimed": []}
    if sweep is not None:
        lists = {"sinks": sweep.sinks.tolist(), "claimed": sweep.claimed.tolist()}
        fields = sweep._asdict() | lists
    return {"sink": recognizer.sink, "automatic": recognizer.automatic} | fields
