"""`labelwalk scale`: more rows than one core can take; one file a command."""

from __future__ import annotations

import typer

from labelwalk.cli.failures import EXIT_CODES
from labelwalk.cli.scale import label

app = typer.Typer(no_args_is_help=True)


@app.callback(epilog=EXIT_CODES)
def scale() -> None:
    """Label data sets of many files, on all cores of a machine or on a cluster.

    \b
    Examples:
      labelwalk scale label rows/ -o labelled/ --label-column y
      labelwalk scale label 's3://bucket/rows/*.parquet' -o s3://bucket/labelled --address auto
    """  # noqa: D301


app.command(epilog=EXIT_CODES)(label.label)
