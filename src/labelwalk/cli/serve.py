"""`labelwalk serve`: learners behind HTTP, on the disk before they answer."""

from __future__ import annotations

import sys
import warnings
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console

from labelwalk._extensions import load_extension
from labelwalk.cli.failures import told
from labelwalk.cli.files import say
from labelwalk.cli.passphrase import PassphraseFile, passphrase_from

if TYPE_CHECKING:
    from labelwalk.service.auth import Tokens

DAY = 86_400.0  # seconds
DEMO_FOLDER = "labelwalk-demo"


def serve(
    folder: Annotated[
        str | None,
        typer.Argument(
            help="Where learners and their journal are kept; made if not there. With --demo it "
            "may be left out.",
            show_default=DEMO_FOLDER,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Where to listen.")] = 8321,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Another name by which it may be called; may be given again."),
    ] = None,
    keep_days: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="How long events are kept at least, so that they can be erased. Learners stay. "
            "Not given: for ever.",
        ),
    ] = None,
    passphrase_file: PassphraseFile = None,
    certificate: Annotated[
        str | None, typer.Option(help="For TLS: a file with the certificate.")
    ] = None,
    private_key: Annotated[str | None, typer.Option(help="For TLS: a file with the key.")] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Feed a learner with a stream that comes along.")
    ] = False,
    faces: Annotated[
        Literal["pixels", "pixels-32", "dlib"] | None,
        typer.Option(help="Recognise faces, by their pixels or by dlib's vectors; see /faces."),
    ] = None,
    watch: Annotated[
        str | None,
        typer.Option(
            help="With --faces: a camera, video or address that is watched by the service itself."
        ),
    ] = None,
    keep_crops: Annotated[
        bool,
        typer.Option(
            "--keep-crops",
            help="With --faces: keep pictures of faces too, not their vectors alone.",
        ),
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(
            min=0.001, help="Requests a second under each token; any number if not given."
        ),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0.1, help="Seconds in which headers must be there, then a body.")
    ] = 30.0,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds in which an answer must begin.")
    ] = 300.0,
    sockets: Annotated[int, typer.Option(min=0, help="WebSockets at a time.")] = 100,
    log: Annotated[
        Literal["plain", "json"], typer.Option(help="How it tells what happens, on stderr.")
    ] = "plain",
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        typer.Option(help="What is told at least; debug: every request."),
    ] = "info",
) -> None:
    """Serve any number of learners over HTTP and WebSockets, with a page to look at, until Ctrl-C.

    An answer to a write means that it is on the disk. The tokens are made at the first start.

    \b
    Examples:
      labelwalk serve --demo
      labelwalk serve kept --port 9000 --host 0.0.0.0 --allow-host cam.local
      labelwalk serve people --faces pixels
      labelwalk serve people --passphrase-file secret.txt
    """  # noqa: D301
    if folder is None and not demo:
        raise typer.BadParameter("FOLDER is missing. Say where to keep learners, or give --demo.")
    if faces is None and (watch is not None or keep_crops):
        raise typer.BadParameter("--watch and --keep-crops concern faces. Give --faces too.")
    folder = folder or DEMO_FOLDER
    with told():
        from labelwalk.service.auth import join_token_path, load_or_create_tokens
        from labelwalk.service.database import DamagedError, FolderInUseError
        from labelwalk.service.encryption import PassphraseError
        from labelwalk.service.learner_store import LearnerStore
        from labelwalk.service.limits import Limits
        from labelwalk.service.request_log import ServiceLog
        from labelwalk.service.server import bind_socket, format_address, list_host_names
        from labelwalk.service.server import serve as serve_until_stopped

        warnings.simplefilter("ignore")  # those of learners name labels, and health tells the same
        told_to = ServiceLog(sys.stderr, log, log_level)
        try:
            passphrase = passphrase_from(passphrase_file)
            sock = bind_socket(host, port)  # before anything is made
            tokens, new = load_or_create_tokens(folder)
            retain = None if keep_days is None else DAY * keep_days
            store = LearnerStore(folder, retain=retain, passphrase=passphrase)
        except (DamagedError, FolderInUseError, PassphraseError, OSError) as error:
            if log == "json":
                told_to.write("error", "not started", reason=str(error))
                raise typer.Exit(1) from error
            raise OSError(str(error)) from error
        with ExitStack() as held:  # what serves closes both, but a signal may come before
            held.callback(store.close)
            looking = None
            if faces is not None:
                start = load_extension("service faces")
                looking = start(folder, store, faces, watch=watch, keep_crops=keep_crops)
                held.callback(looking.close)
            address = format_address(host, port, allow_host or [], secure=certificate is not None)
            if log == "json":
                told_to.write(
                    "info",
                    "started",
                    folder=folder,
                    address=address,
                    tokens=join_token_path(folder),
                )
            else:
                _greet(folder, address, join_token_path(folder), tokens if new else None)
                if looking is not None:
                    say(Console(stderr=True, highlight=False), f"Faces: {address}/faces")
            serve_until_stopped(
                store,
                tokens,
                sock,
                list_host_names(host, port, allow_host or []),
                certificate=certificate,
                private_key=private_key,
                demo=demo,
                faces=looking,
                limits=Limits(patience=patience, timeout=timeout, sockets=sockets, rate=rate),
                log=told_to,
            )


def _greet(folder: str, address: str, where: str, new: Tokens | None) -> None:
    """Say where it is; tokens are told to people alone, since what is piped is often kept."""
    console = Console(stderr=True, highlight=False)
    say(console, f"Serving {folder} at {address}")
    if new is None or not sys.stderr.isatty():
        say(console, f"The tokens are in {where}")
        return
    say(console, f"Open this link, told this once: {address}/#token={new.write}")
    say(console, f"Token for reading alone: {new.read}")
