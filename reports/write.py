"""A document written to files: PDF, HTML and JSON from one drawing of its figures."""

import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from reports import figures
from reports.document import Document
from reports.html import html
from reports.pdf import pdf
from reports.plain import export, plain
from reports.plain import figures as figures_of

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportPaths:
    """Where a report went, and how long its parts took [s]."""

    pdf: Path
    html: Path
    json: Path
    took_s: dict[str, float] = field(default_factory=dict)


def write_report(document: Document, folder: Path, *, name: str = "report", workers: int = 2) -> ReportPaths:
    """Write <name>.pdf, <name>.html and <name>.json into the folder, which is made if need be. A file appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = ReportPaths(pdf=folder / f"{name}.pdf", html=folder / f"{name}.html", json=folder / f"{name}.json")
    began = time.perf_counter()
    data = plain(document)
    drawings = figures.render(figures_of(document), workers=workers)
    drawn = time.perf_counter()
    # Typst leaves the interpreter to others while it compiles.
    with ThreadPoolExecutor(1) as pool:
        typeset = pool.submit(pdf, data, drawings)
        _put(paths.html, html(data, drawings).encode())
        _put(paths.json, json.dumps(export(document), ensure_ascii=False, allow_nan=False).encode())
        _put(paths.pdf, typeset.result())
    ended = time.perf_counter()
    paths.took_s.update(figures=drawn - began, pages=ended - drawn, all=ended - began)
    log.info("report written to %s in %.2f s (figures %.2f s)", folder, ended - began, drawn - began)
    return paths


def _put(path: Path, content: bytes) -> None:
    beside = path.with_name(f".{path.name}.part")
    beside.write_bytes(content)
    beside.replace(path)
