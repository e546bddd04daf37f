"""What the commands of faces share: where people are kept, and how faces are compared."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

Kind = Literal["pixels", "pixels-32", "dlib"]
Folder = Annotated[str, typer.Argument(help="Where people are kept.")]
NewFolder = Annotated[str, typer.Argument(help="Where people are kept; made if not there.")]
Source = Annotated[
    str,
    typer.Argument(
        help="A video, a folder of pictures, the number of a camera, an address (rtsp:// or "
        "http://), or demo: made-up people."
    ),
]
Faces = Annotated[
    Kind | None,
    typer.Option(
        "--faces",
        help="How faces are compared: by their pixels, or by the vectors of dlib's network.",
        show_default="as the folder has them, else pixels",
    ),
]
Smallest = Annotated[
    int | None,
    typer.Option(
        "--smallest",
        min=20,
        max=10_000,
        help="Faces of fewer pixels a side are not looked for; smaller takes longer.",
        show_default="a sixth of the shorter side",
    ),
]
Frames = Annotated[int | None, typer.Option("--frames", min=1, help="Stop after so many frames.")]
