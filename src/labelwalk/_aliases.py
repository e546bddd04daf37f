"""Earlier import paths of documented modules. They keep working; new code uses the new path."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

# earlier path -> path in this version, both below `labelwalk`
MODULE_ALIASES: dict[str, str] = {
    "capymoa": "integrations.capymoa",
    "decision": "verdicts",
    "estimator": "integrations.sklearn",
    "faces.dlib_vectors": "faces.representations",
    "faces.onlooker": "faces.pipeline",
    "faces.opening": "faces.capture",
    "faces.writing": "faces.drawing",
    "harmonic": "solver.harmonic",
    "modelfile": "storage.model_file",
    "river": "integrations.river",
    "scale": "distributed",
    "scale.actors": "distributed.ray_actors",
    "scale.centre": "distributed.shared_learner",
    "scale.feeding": "distributed.keyed_learners",
    "scale.keyed": "distributed.keyed_learners",
    "scale.on_ray": "distributed.ray_executor",
    "scale.partitions": "distributed.shared_learner",
    "streams": "io",
}

# modules that left the package for the folder `paper` of the repository
MODULES_IN_PAPER = ("baselines", "bounds", "datasets", "reproduce")


class _AliasLoader(Loader):
    def __init__(self, path: str) -> None:
        self.path = path

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self.path)
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.own_spec  # the import system has replaced it


class _AliasFinder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if package == "labelwalk" and name in MODULES_IN_PAPER:
            raise ModuleNotFoundError(
                f"labelwalk.{name} is not part of the package. Clone the repository and import "
                "paper from its root, or run `python -m paper` there.",
                name=fullname,
            )
        if package != "labelwalk" or name not in MODULE_ALIASES:
            return None
        return ModuleSpec(fullname, _AliasLoader(f"labelwalk.{MODULE_ALIASES[name]}"))


def install() -> None:
    """Let the import system find modules under their earlier paths."""
    if not any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
        sys.meta_path.append(_AliasFinder())
