"""What is counted, in the words of Prometheus."""

from __future__ import annotations

from labelwalk.service.learner_store import LearnerStore

KIND = "text/plain; version=0.0.4"
MEASURES = {
    "labelwalk_events_total": ("counter", "Events that are on the disk."),
    "labelwalk_waiting_examples": ("gauge", "Examples that wait to be learned."),
    "labelwalk_failed": ("gauge", "1 where the disk has failed and nothing is accepted."),
    "labelwalk_damaged": ("gauge", "1 where an old event is not as it was written."),
}
OF_A_LEARNER = {
    "labelwalk_examples": ("counter", "Examples that a learner has seen."),
    "labelwalk_vertices": ("gauge", "Vertices that a learner keeps."),
    "labelwalk_outliers": ("counter", "Examples that were like nothing known."),
    "labelwalk_classes": ("gauge", "Classes that a learner knows."),
}


def exposed(store: LearnerStore) -> str:
    """Return all measures as text."""
    standing = store.get_status()
    lines: list[str] = []
    for (name, said), value in zip(MEASURES.items(), standing.values, strict=True):
        lines += [*_about(name, said), f"{name} {value}"]
    for place, (name, said) in enumerate(OF_A_LEARNER.items()):
        lines += _about(name, said)
        for learner, values in standing.learners.items():
            lines.append(f'{name}{{learner="{_escaped(learner)}"}} {values[place]}')
    return "\n".join(lines) + "\n"


def _about(name: str, said: tuple[str, str]) -> list[str]:
    return [f"# HELP {name} {said[1]}", f"# TYPE {name} {said[0]}"]


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
