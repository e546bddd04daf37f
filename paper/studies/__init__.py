"""Every figure of the paper, rerun: `labelwalk reproduce`, or `reproduce` from Python."""

from __future__ import annotations

from paper.studies.running import ALL, STUDIES, Reproduced, reproduce

__all__ = ["ALL", "STUDIES", "Reproduced", "reproduce"]
