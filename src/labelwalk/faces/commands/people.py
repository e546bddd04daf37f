"""`labelwalk faces people`: who is known, and who was seen and is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from labelwalk.cli.failures import told
from labelwalk.cli.passphrase import PassphraseFile
from labelwalk.faces.commands.folders import kept_in
from labelwalk.faces.commands.options import Folder

if TYPE_CHECKING:
    from labelwalk.faces.people_store import Gallery


def people(
    folder: Folder,
    as_json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
    passphrase_file: PassphraseFile = None,
) -> None:
    """List the people of a folder: how many views were taught, how often each was seen.

    \b
    Examples:
      labelwalk faces people people
      labelwalk faces people people --json
    """  # noqa: D301
    with told():
        from labelwalk.faces.names import unknown

        with kept_in(folder, None, passphrase_file) as gallery:
            found = _everybody(gallery)
        if as_json:
            typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
            return
        table = Table(box=box.SIMPLE)
        table.add_column("who", overflow="fold")
        for head in ("taught", "seen"):
            table.add_column(head, justify="right")
        for one in found["people"]:
            table.add_row(escape(one["name"]), f"{one['taught']:,}", f"{one['examples']:,}")
        for one in found["strangers"]:
            table.add_row(unknown(one["number"]), "-", f"{one['examples']:,}")
        Console(highlight=False).print(table)


def _everybody(gallery: Gallery) -> dict[str, Any]:
    from labelwalk.faces.representations import name_of

    recognizer = gallery.recognizer
    return {
        "representation": name_of(gallery.representation),
        "people": [
            {"name": one.name, "taught": one.taught, "examples": one.examples}
            for one in recognizer.known()
        ],
        "strangers": [
            {"number": one.number, "examples": one.examples} for one in recognizer.strangers()
        ],
        "examples": recognizer.learner.n_seen,
        "sink": recognizer.sink,
    }
