"""`labelwalk faces enroll`: somebody, from pictures."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from labelwalk.cli import reading as read
from labelwalk.cli.failures import NOT_UNDERSTOOD, fail, told
from labelwalk.cli.files import counted, say
from labelwalk.cli.passphrase import PassphraseFile
from labelwalk.faces.commands.folders import is_kept, kept_in
from labelwalk.faces.commands.options import Faces, Kind, NewFolder, Smallest

if TYPE_CHECKING:
    from labelwalk.arrays import Floats
    from labelwalk.faces.people_store import Gallery
    from labelwalk.faces.representations import Representation


def enroll(
    folder: NewFolder,
    name: Annotated[str, typer.Argument(help="Who it is.")],
    pictures: Annotated[
        list[str],
        typer.Argument(
            help="Pictures, folders of them, videos, or the number of a camera: the largest face "
            "in each."
        ),
    ],
    faces: Faces = None,
    smallest: Smallest = None,
    skip: Annotated[
        bool,
        typer.Option(
            "--skip", help="Leave out what shows no clear face; else nothing is taught then."
        ),
    ] = False,
    passphrase_file: PassphraseFile = None,
    quiet: read.Quiet = False,
) -> None:
    """Teach who somebody is, from pictures in which theirs is the largest face.

    Of a video or camera up to 24 frames are looked at, and those that show no clear face are passed
    over.

    \b
    Examples:
      labelwalk faces enroll people Ada ada-1.jpg ada-2.jpg ada-3.jpg ada-4.jpg
      labelwalk faces enroll people Ben pictures-of-ben --skip
    """  # noqa: D301
    with told():
        from labelwalk.faces.names import plain

        console = Console(stderr=True, highlight=False, quiet=quiet)
        name, paths = plain(name), _files(pictures)
        with ExitStack() as held:
            gallery = None
            if is_kept(folder):
                gallery = held.enter_context(kept_in(folder, faces, passphrase_file, new=True))
            found = _found(paths, _representation(gallery, faces), smallest)
            _check(found, paths, skip)
            if gallery is None:  # not before there is something to be kept
                gallery = held.enter_context(kept_in(folder, faces, passphrase_file, new=True))
            vectors = [vector for views in found.values() for vector in views]
            _say_who_looks_alike(console, gallery, name, vectors)
            gallery.recognizer.teach(vectors, [name] * len(vectors))
            n = len(gallery.recognizer.people)
        n_views, n_files = counted(len(vectors), "view"), counted(len(found), "file")
        say(console, f"{name}: {n_views} taught, out of {n_files}.")
        say(console, f"People: {folder}, which knows {counted(n, 'name')}.")


def _files(pictures: list[str]) -> list[str]:
    """Return all that is to be looked at, each once, with the pictures of folders one by one."""
    from labelwalk.faces.pictures import pictures_in

    files: list[str] = []
    for where in pictures:
        files += map(str, pictures_in(where)) if os.path.isdir(where) else [where]
    return list(dict.fromkeys(files))


def _representation(gallery: Gallery | None, kind: Kind | None) -> Representation:
    from labelwalk.faces.people_store import called

    return called(kind or "pixels") if gallery is None else gallery.representation


def _found(
    paths: list[str], representation: Representation, smallest: int | None
) -> dict[str, list[Floats]]:
    """Return the views of each file that shows a clear face, and say why the others do not."""
    from labelwalk.faces.haar import HaarDetector
    from labelwalk.faces.image import SourceError
    from labelwalk.faces.portraits import NoPortraitError, views_of

    found, detector = {}, HaarDetector(smallest=smallest)
    for path in paths:
        try:
            found[path] = views_of(path, representation, detector)
        except NoPortraitError as error:
            typer.echo(f"{path}: {error}", err=True)
        except SourceError as error:
            typer.echo(str(error), err=True)
    return found


def _check(found: dict[str, list[Floats]], paths: list[str], skip: bool) -> None:
    missing = len(paths) - len(found)
    if not found:
        fail("Nothing is taught.", NOT_UNDERSTOOD)
    if missing and not skip:
        left_out = counted(missing, "file")
        fail(f"Nothing is taught. Leave out {left_out}, or give --skip.", NOT_UNDERSTOOD)


def _say_who_looks_alike(
    console: Console, gallery: Gallery, name: str, vectors: list[Floats]
) -> None:
    """Say whom these views would have been taken for: it may be a mistake."""
    said = gallery.recognizer.mind.ask(lambda learner: learner.predict(vectors).label.tolist())
    for other, n in Counter(one for one in said if one not in (None, name)).items():
        say(console, f"{counted(n, 'view')} of these would have been taken for {other}.")
