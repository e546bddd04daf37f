"""`serve` and `restore`: run the HTTP service, and restore its backups."""

from __future__ import annotations

import sys
import warnings
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from labelwalk._extensions import load_extension
from labelwalk.cli.errors import FAILED
from labelwalk.cli.options import PassphraseFile, read_passphrase

if TYPE_CHECKING:
    from labelwalk.service.auth import Tokens

SECONDS_PER_DAY = 86_400.0
DEMO_FOLDER = "labelwalk-demo"


def serve(
    folder: Annotated[
        str | None,
        typer.Argument(
            help="Data folder with the learners and their journal; created if it does not exist. "
            "Optional with --demo.",
            show_default=DEMO_FOLDER,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8321,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Additional host name of this service. Can be given several times."),
    ] = None,
    keep_days: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Minimum number of days for which events are kept and can be erased. Learners are "
            "not affected. Default: all events are kept.",
        ),
    ] = None,
    passphrase_file: PassphraseFile = None,
    certificate: Annotated[str | None, typer.Option(help="TLS certificate file.")] = None,
    private_key: Annotated[str | None, typer.Option(help="TLS private key file.")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Feed a demonstration stream to a learner.")
    ] = False,
    faces: Annotated[
        Literal["pixels", "pixels-32", "dlib"] | None,
        typer.Option(help="Recognize faces by their pixels or by dlib vectors; see /faces."),
    ] = None,
    watch: Annotated[
        str | None,
        typer.Option(help="Camera, video or address to watch. Requires --faces."),
    ] = None,
    keep_crops: Annotated[
        bool,
        typer.Option(
            "--keep-crops",
            help="Store pictures of faces, not only their vectors. Requires --faces.",
        ),
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(
            min=0.001, help="Maximum number of requests per token per second. Default: unlimited."
        ),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(
            min=0.1, help="Timeout for the request headers, then for the body, in seconds."
        ),
    ] = 30.0,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Timeout before a response begins, in seconds.")
    ] = 300.0,
    sockets: Annotated[
        int, typer.Option(min=0, help="Maximum number of concurrent WebSockets.")
    ] = 100,
    log: Annotated[
        Literal["plain", "json"], typer.Option(help="Format of the log on stderr.")
    ] = "plain",
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        typer.Option(help="Minimum log level ('debug' logs every request)."),
    ] = "info",
) -> None:
    """Serve any number of learners over HTTP and WebSockets, with a web page, until Ctrl-C.

    A write is answered after it is on disk. The tokens are created at the first start.

    \b
    Examples:
      labelwalk serve --demo
      labelwalk serve kept --port 9000 --host 0.0.0.0 --allow-host cam.local
      labelwalk serve people --faces pixels
      labelwalk serve people --passphrase-file secret.txt
    """  # noqa: D301
    if folder is None and not demo:
        raise typer.BadParameter("FOLDER is missing. Give a data folder, or --demo.")
    if faces is None and (watch is not None or keep_crops):
        raise typer.BadParameter("--watch and --keep-crops require --faces.")
    folder = folder or DEMO_FOLDER
    from labelwalk.service.auth import join_token_path, load_or_create_tokens
    from labelwalk.service.database import DamagedError, FolderInUseError
    from labelwalk.service.encryption import PassphraseError
    from labelwalk.service.learner_store import LearnerStore
    from labelwalk.service.limits import Limits
    from labelwalk.service.request_log import ServiceLog
    from labelwalk.service.server import bind_socket, format_address, list_host_names
    from labelwalk.service.server import serve as serve_until_stopped

    warnings.simplefilter("ignore")  # those of learners contain labels; health reports the same
    service_log = ServiceLog(sys.stderr, log, log_level)
    retain = None if keep_days is None else SECONDS_PER_DAY * keep_days
    try:
        passphrase = read_passphrase(passphrase_file)
        sock = bind_socket(host, port)  # before any file is created
        tokens, is_new = load_or_create_tokens(folder)
        store = LearnerStore(folder, retain=retain, passphrase=passphrase)
    except (DamagedError, FolderInUseError, PassphraseError, OSError) as error:
        if log == "json":
            service_log.write("error", "not started", reason=str(error))
            raise typer.Exit(FAILED) from error
        raise OSError(str(error)) from error
    with ExitStack() as resources:  # the server closes both too, unless a signal comes first
        resources.callback(store.close)
        camera_service = None
        if faces is not None:
            start = load_extension("service faces")
            camera_service = start(folder, store, faces, watch=watch, keep_crops=keep_crops)
            resources.callback(camera_service.close)
        address = format_address(host, port, allow_host or [], secure=certificate is not None)
        token_path = join_token_path(folder)
        if log == "json":
            service_log.write("info", "started", folder=folder, address=address, tokens=token_path)
        else:
            _print_address(folder, address, token_path, tokens if is_new else None)
            if camera_service is not None:
                typer.echo(f"Faces: {address}/faces", err=True)
        serve_until_stopped(
            store,
            tokens,
            sock,
            list_host_names(host, port, allow_host or []),
            certificate=certificate,
            private_key=private_key,
            demo=demo,
            faces=camera_service,
            limits=Limits(patience=patience, timeout=timeout, sockets=sockets, rate=rate),
            log=service_log,
        )


def _print_address(folder: str, address: str, token_path: str, new: Tokens | None) -> None:
    """Print the address; tokens only to a terminal, since other output is often stored."""
    lines = [f"Serving {folder} at {address}", f"The tokens are in {token_path}"]
    if new is not None and sys.stderr.isatty():
        lines[1:] = [
            f"Open this link (the token is shown only once): {address}/#token={new.write}",
            f"Read-only token: {new.read}",
        ]
    typer.echo("\n".join(lines), err=True)


def restore(
    backup: Annotated[
        str, typer.Argument(help="Backup file, from the backups/ folder of a service.")
    ],
    folder: Annotated[
        str, typer.Argument(help="New data folder; must not exist or must be empty.")
    ],
) -> None:
    """Restore a backup of the service as a data folder; every event is verified.

    \b
    Examples:
      labelwalk restore kept/backups/2026-11-16T03-58-00-1200.db again
      labelwalk restore yesterday.db kept-of-yesterday
    """  # noqa: D301
    from labelwalk.service.database import DamagedError
    from labelwalk.service.snapshots import restore as restore_backup

    try:
        n = restore_backup(backup, folder)
    except DamagedError as error:
        raise OSError(f"{backup} cannot be restored: {error}.") from error
    typer.echo(f"{n:,} events, each verified. Continue with: labelwalk serve {folder}", err=True)
