"""One page that puts every picture beside what the paper says and what was found."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from html import escape
from pathlib import Path

from paper.studies.findings import Claim, Findings, Study

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid #8888; margin-top: 2rem; }
figure { margin: 1rem 0; background: white; }
figure img { max-width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0;
  border-bottom: 1px solid #8884; }
td:last-child { white-space: nowrap; font-weight: 600; }
.holds { color: #0a7d33; } .part { color: #a86400; } .fails { color: #c0262d; }
@media (prefers-color-scheme: dark) {
  .holds { color: #5fd38a; } .part { color: #f0b35a; } .fails { color: #ff8a8a; } }
@media (max-width: 40rem) { table, tbody, tr, td, th { display: block; } }
"""
CLASSES = {"holds": "holds", "holds in part": "part", "does not hold": "fails", "not measured": ""}


def write(
    path: Path,
    findings: Mapping[Study, Findings],
    drawings: Mapping[str, Path],
    missing: Mapping[str, str],
    about: str,
) -> None:
    """Write the page.

    Parameters
    ----------
    path : path
        An HTML file.
    findings : findings of each study, in order
    drawings : SVG files by name of the picture
    missing : why a data set could not be had, by name
    about : str
        How and with what it was made.
    """
    body = [
        "<h1>Online semi-supervised learning on quantized graphs, rerun</h1>",
        f"<p>{escape(about)}</p>",
        _missing(missing),
        *(_section(study, found, drawings) for study, found in findings.items()),
    ]
    page = (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>labelwalk: the evidence</title><style>{STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n"
    )
    path.write_text(page, "utf-8")


def _section(study: Study, found: Findings, drawings: Mapping[str, Path]) -> str:
    pictures = "".join(
        f"<figure>{_inline(drawings[picture.name])}</figure>"
        for picture in found.pictures
        if picture.name in drawings
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in found.notes)
    tables = ", ".join(f"<a href='tables/{name}.csv'>{name}.csv</a>" for name in found.tables)
    return (
        f"<section id='{study.name}'><h2>{escape(study.title)}</h2>{notes}"
        f"{_claims(found.claims)}{pictures}<p>Numbers: {tables}</p></section>"
    )


def _claims(claims: list[Claim]) -> str:
    if not claims:
        return ""
    rows = "".join(
        f"<tr><td>{escape(claim.paper)}</td><td>{escape(claim.ours)}</td>"
        f"<td class='{CLASSES[claim.verdict]}'>{claim.verdict}</td></tr>"
        for claim in claims
    )
    head = "<tr><th>what was claimed</th><th>what was measured here</th><th>verdict</th></tr>"
    return f"<table>{head}{rows}</table>"


def _missing(missing: Mapping[str, str]) -> str:
    if not missing:
        return ""
    items = "".join(f"<li>{escape(name)}: {escape(why)}</li>" for name, why in missing.items())
    return f"<p>Not available here, so that others stand in:</p><ul>{items}</ul>"


def _inline(path: Path) -> str:
    """As an image of its own: in one page, the names inside two drawings would clash."""
    data = base64.b64encode(path.read_bytes()).decode()
    return f"<img src='data:image/svg+xml;base64,{data}' alt='{escape(path.stem)}'>"
