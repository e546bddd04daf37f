"""`labelwalk merge`: several learners made one."""

from __future__ import annotations

from typing import Annotated

import typer

from labelwalk.cli.failures import told


def merge(
    models: Annotated[list[str], typer.Argument(help="Learners' files, two or more.")],
    output: Annotated[str, typer.Option("--output", "-o", help="The file of the new learner.")],
) -> None:
    """Make one learner of several with the same settings, as if it had seen all their streams.

    \b
    Examples:
      labelwalk merge monday.lw tuesday.lw -o both.lw
      labelwalk merge shard-*.lw -o whole.lw
    """  # noqa: D301
    with told():
        from labelwalk.cli.learners import load_with_feature_names

        if len(models) < 2:
            raise ValueError(f"there is one file, {models[0]}. Give two or more to merge.")
        learner = load_with_feature_names(models[0])
        for path in models[1:]:
            try:
                learner.merge(load_with_feature_names(path))
            except ValueError as error:
                raise type(error)(f"{path} cannot be merged: {error}") from error
        learner.save(output)
        typer.echo(
            f"{learner.n_seen:,} examples, {learner.n_vertices} vertices, "
            f"{len(learner.classes)} classes: {output}",
            err=True,
        )
