"""Integrations that cannot be tested because their library or Java is missing."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec


def has_java() -> bool:
    return "JAVA_HOME" in os.environ or shutil.which("java") is not None


MISSING = [name for name in ("river", "capymoa") if find_spec(name) is None]
if "capymoa" not in MISSING and not has_java():
    MISSING.append("capymoa")
