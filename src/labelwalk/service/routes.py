"""What every route does, takes and answers: a line for each."""

from __future__ import annotations

from dataclasses import dataclass

from labelwalk.service.access import LEARNER
from labelwalk.service.page_schemas import EVENTS
from labelwalk.service.shapes import TEXT, Schema, many, ref
from labelwalk.service.static import KINDS
from labelwalk.service.wire import JSON, RAW

PLAIN, HTML, TOLD, JPEG = "text/plain", "text/html", "text/event-stream", "image/jpeg"
BYTES = ("Learner", "Picture")
FILES = tuple(kind.partition(";")[0] for kind in KINDS.values())


@dataclass(frozen=True)
class Route:
    """What is to be known of a route beyond what its signature says.

    Attributes
    ----------
    does : str
    answer : schema or None
        Of what comes back; None where nothing does.
    media : str or tuple of str
        What it is written in, or may be.
    body : str or None
        The schema of what is sent: rows of any kind also as numbers and as Arrow, what is in
        `BYTES` as bytes; None where the signature says it, or nothing is sent.
    errors : tuple of int
        Besides those that its rule, its path and its body bring with them.
    kept : bool
        Whether a browser may keep the answer, and is told when it still holds.
    """

    does: str
    answer: Schema | None
    media: str | tuple[str, ...] = JSON
    body: str | None = None
    errors: tuple[int, ...] = ()
    kept: bool = False


_EVENTS: Schema = TEXT | {
    "description": f"Events called {', '.join(EVENTS)}, each with data in JSON: "
    + ", ".join(f"{name.capitalize()}Event" for name in EVENTS)
}
PAGE: dict[tuple[str, str], Route] = {
    ("GET", "/"): Route("The page.", TEXT, HTML, kept=True),
    ("GET", "/faces"): Route("The page of faces.", TEXT, HTML, kept=True),
    ("GET", "/page/{file}"): Route("A file of the page.", {}, FILES, errors=(404,), kept=True),
    ("GET", "/api/session"): Route("What the token that is shown allows.", ref("Session")),
    ("POST", "/api/session"): Route("Put the token that is shown into a cookie.", None),
    ("DELETE", "/api/session"): Route("Take the cookie away.", None),
    ("POST", "/api/demo"): Route(
        "Feed a learner with the stream that comes along.", ref("Named"), errors=(409,)
    ),
    ("GET", LEARNER + "/map"): Route("All vertices in the plane.", ref("Map")),
    ("GET", LEARNER + "/vertices/{id}"): Route("A vertex closely.", ref("Vertex")),
    ("GET", LEARNER + "/recent"): Route("The last verdicts, newest first.", ref("Recent")),
    ("GET", LEARNER + "/taught"): Route(
        "The last labels that stand, newest first.", many(ref("Taught"))
    ),
    ("GET", LEARNER + "/history"): Route("The last hour, point by point.", ref("History")),
    ("GET", LEARNER + "/live"): Route("What is new, as it happens, without end.", _EVENTS, TOLD),
    ("POST", LEARNER + "/dials/try"): Route(
        "Say what other settings would change, and change nothing.", ref("Tried")
    ),
    ("POST", LEARNER + "/dials"): Route(
        "Go on with other settings.", ref("SettingsTold"), errors=(409,)
    ),
}
FACES: dict[tuple[str, str], Route] = {
    ("GET", "/api/faces"): Route("Everybody who was met.", ref("Everybody"), errors=(404,)),
    ("POST", "/api/faces/frames"): Route(
        "Look at a frame of a camera: a JPEG, PNG or WebP.",
        ref("Frame"),
        body="Picture",
        errors=(404,),
    ),
    ("GET", "/api/faces/view"): Route(
        "The newest frame of the service's own camera; a header says who is in it.",
        {},
        JPEG,
        errors=(404,),
    ),
    ("GET", "/api/faces/pictures/{example}"): Route(
        "A picture of a face.", {}, JPEG, errors=(404, 422)
    ),
    ("POST", "/api/faces/name"): Route(
        "Say who a face is, and a few views on its track.", ref("NamedViews"), errors=(404,)
    ),
    ("POST", "/api/faces/undo"): Route(
        "Take back the names of faces.", ref("UndoneViews"), errors=(404,)
    ),
    ("POST", "/api/faces/forget"): Route(
        "Erase a person or a stranger: every view that is taken for them.",
        ref("Erased"),
        errors=(404,),
    ),
    ("GET", "/api/faces/sink"): Route(
        "How far names reach, and where the cliff is.", ref("SinkTold"), errors=(404,)
    ),
    ("POST", "/api/faces/sink"): Route(
        "Let names reach further or less far.", ref("SinkSet"), errors=(404,)
    ),
}
ROUTES: dict[tuple[str, str], Route] = (
    {
        ("GET", "/healthz"): Route("Whether the process is alive.", ref("Alive")),
        ("GET", "/readyz"): Route("Whether it answers, and what is damaged.", ref("Ready")),
        ("GET", "/metrics"): Route("What is counted, for Prometheus.", TEXT, PLAIN),
        ("POST", "/api/backups"): Route("Copy everything as of now.", ref("Named")),
        ("GET", "/api/learners"): Route("All learners.", many(ref("Facts"))),
        ("POST", "/api/learners"): Route("Make a learner.", ref("Named"), errors=(409,)),
        ("GET", LEARNER): Route("What is known of a learner.", ref("Facts")),
        ("PUT", LEARNER): Route("Take in a learner.", ref("Named"), body="Learner", errors=(409,)),
        ("DELETE", LEARNER): Route("Delete a learner.", None),
        ("POST", LEARNER + "/observe"): Route(
            "Learn rows without labels, and answer them.",
            ref("Verdicts"),
            body="Rows",
            errors=(409,),
        ),
        ("POST", LEARNER + "/teach"): Route(
            "Learn rows with their labels.", ref("First"), body="LabelledRows", errors=(409,)
        ),
        ("POST", LEARNER + "/teach_later"): Route(
            "Label an example that was observed.", ref("First"), errors=(409,)
        ),
        ("POST", LEARNER + "/retract"): Route(
            "Take back what was taught.", ref("First"), errors=(409,)
        ),
        ("POST", LEARNER + "/forget"): Route(
            "Erase a class or examples as if they had never come.", ref("Erased")
        ),
        ("POST", LEARNER + "/predict"): Route(
            "Answer rows, and learn nothing.", ref("Guesses"), body="Rows"
        ),
        ("POST", LEARNER + "/explain"): Route(
            "Say why a row gets its answer.", TEXT, body="OneRow"
        ),
        ("GET", LEARNER + "/ask"): Route("What to label next.", many(ref("Question"))),
        ("GET", LEARNER + "/health"): Route("The signs of health.", many(ref("Sign"))),
        ("GET", LEARNER + "/vertices"): Route("The vertices, column by column.", ref("Vertices")),
        ("GET", LEARNER + "/export"): Route("The learner as a file.", {}, RAW),
    }
    | PAGE
    | FACES
)
