"""Extensions of the command line and the service: where each begins, imported at first use.

An extension is a package that nothing else imports. Its command group, its service application
and its routes are declared here by name.
"""

from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol

# what is extended, and by which module and attribute
ENTRY_POINTS: dict[str, str] = {
    "command faces": "labelwalk.faces.commands:app",
    "service faces": "labelwalk.faces.camera_worker:start_face_service",
    "routes faces": "labelwalk.faces.routes:add_routes",
    "errors faces": "labelwalk.faces.routes:STATUSES",
    "schemas faces": "labelwalk.faces.routes:SCHEMAS",
}
# each has a folder `page` with files that the service sends
PAGE_PACKAGES = ("labelwalk.service", "labelwalk.faces")


class ServiceExtension(Protocol):
    """An application that runs while the service does."""

    def close(self) -> None:
        """Finish waiting work and stop."""


def load_extension(name: str) -> Any:
    """Import an entry point.

    Examples
    --------
    >>> sorted(load_extension("schemas faces"))[:2]
    ['Everybody', 'Face']
    """
    return resolve_name(ENTRY_POINTS[name])


def list_page_folders() -> list[Path]:
    """Return the folders with files of the page, without importing their packages.

    Examples
    --------
    >>> [folder.parent.name for folder in list_page_folders()]
    ['service', 'faces']
    """
    folders = []
    for package in PAGE_PACKAGES:
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            folders.append(Path(spec.origin).with_name("page"))
    return folders
