"""How a stream is read: the options that `label`, `teach`, `predict` and others share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwalk.configuration import Configuration

if TYPE_CHECKING:
    from labelwalk.io import Task

PANEL = "Input and output"

Input = Annotated[
    str,
    typer.Argument(help="A file, a folder of images, kafka://host:port/topic, or - for stdin."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, tsv, ndjson, parquet, arrow, arrows, npz, npy, images or kafka.",
        show_default="by the name, or a look at stdin",
        rich_help_panel=PANEL,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(help="Between fields; may be 'tab'.", show_default=",", rich_help_panel=PANEL),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header", help="The CSV has no names; call them 1, 2, ...", rich_help_panel=PANEL
    ),
]
Embed = Annotated[
    str | None,
    typer.Option(
        help="What makes a vector of an image: package.module:function.",
        show_default="a small grey thumbnail",
        rich_help_panel=PANEL,
    ),
]
Output = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="A file, kafka://host:port/topic, or - for stdout.",
        rich_help_panel=PANEL,
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        help="Format of the output: csv, tsv, ndjson, parquet, arrows (a stream) or kafka.",
        show_default="by its name, or that of the input",
        rich_help_panel=PANEL,
    ),
]
Prefix = Annotated[
    str | None,
    typer.Option(
        help="Before the names of the new columns.",
        show_default="none, or predicted_ where they are taken",
        rich_help_panel=PANEL,
    ),
]
Rejects = Annotated[
    str | None,
    typer.Option(
        help="Where skipped rows go.",
        show_default="OUTPUT.rejects.ndjson, or labelwalk.rejects.ndjson",
        rich_help_panel=PANEL,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")]
Model = Annotated[str, typer.Argument(help="A learner's file.")]


def task_of(
    configuration: Configuration,
    input: str,
    output: str | None,
    *,
    format: str | None,
    delimiter: str | None,
    no_header: bool,
    embed: str | None,
    follow: bool = False,
    learn: bool = True,
    model: str | None,
    **more: Any,
) -> Task:
    """Return what the options say is to be done with a stream; `more` as `Task` has it."""
    from labelwalk.cli.learners import read_feature_names
    from labelwalk.io import ReadOptions, Task

    return Task(
        input,
        output,
        replace(configuration.columns, label_optional=not learn),
        ReadOptions(format, delimiter, not no_header, follow, embed),
        learn=learn,
        unlabeled=configuration.unlabeled,
        on_error=configuration.on_error,
        taught_by=read_feature_names(model) if model else (),
        **more,
    )
