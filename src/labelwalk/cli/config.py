"""`labelwalk config`: the settings as they take effect."""

from __future__ import annotations

import typer

from labelwalk.cli.options import configured
from labelwalk.configuration import Configuration


@configured("Columns", "Rows", "Learner")
def config(*, configuration: Configuration) -> None:
    """Print all settings as they take effect, as TOML; a # marks what is not set.

    Options win over the file, and the file over the environment. Every setting is also an
    environment variable: n_centroids is LABELWALK_N_CENTROIDS.

    \b
    Examples:
      labelwalk config > labelwalk.toml
      LABELWALK_SINK=0.01 labelwalk config --profile paper
    """  # noqa: D301
    typer.echo(configuration.toml())
