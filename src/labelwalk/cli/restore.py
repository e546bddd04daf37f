"""`labelwalk restore`: a backup of the service brought back."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from labelwalk.cli.failures import told
from labelwalk.cli.files import say


def restore(
    backup: Annotated[str, typer.Argument(help="A file that the service made, under backups/.")],
    folder: Annotated[str, typer.Argument(help="Where to put it; nothing may be kept there yet.")],
) -> None:
    """Bring back a backup of the service, proved event by event, as a folder to serve.

    \b
    Examples:
      labelwalk restore kept/backups/2026-11-16T03-58-00-1200.db again
      labelwalk restore yesterday.db kept-of-yesterday
    """  # noqa: D301
    with told():
        from labelwalk.service.backup import restore as bring_back
        from labelwalk.service.database import DamagedError

        try:
            n = bring_back(backup, folder)
        except DamagedError as error:
            raise OSError(f"{backup} cannot be brought back: {error}.") from error
        console = Console(stderr=True, highlight=False)
        say(console, f"{n:,} events, each proved. To go on: labelwalk serve {folder}")
