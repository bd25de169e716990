"""`rackproof schemes`: which congestion-control schemes this machine can run, and what is missing for the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rackproof.cli.exits import reported

if TYPE_CHECKING:
    from testplans.congestion_control.schemes.probe import Availability

console = Console()

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script instead of a table.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(schemes)


def schemes(as_json: AsJson = False) -> None:
    """List congestion-control schemes, and what this machine lacks for each, by trying."""
    from rackproof.settings import Settings
    from testplans.congestion_control.schemes import registry
    from testplans.congestion_control.schemes.probe import local_call, probe
    from testplans.congestion_control.schemes.tools import Tools

    with reported():
        found = probe(registry.schemes().values(), local_call, Tools.of(Settings.load()))
    if as_json:
        print(json.dumps([_as_json(each) for each in found]))
    else:
        console.print(table(found))


def table(found: Sequence[Availability]) -> Table:
    """One row a scheme."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("id", "scheme", "family", "here", "version, or what is missing"):
        shown.add_column(title, overflow="fold", no_wrap=title in ("id", "here"))
    for each in found:
        here = Text("yes", style="bold green") if each.available else Text("no", style="bold yellow")
        lines = list(each.missing) if each.missing else [each.version] if each.version else []
        if each.scheme.weak is not None:
            lines.append(f"not to be shown as the algorithm: {each.scheme.weak}")
        shown.add_row(each.scheme.id, Text(each.scheme.label), each.scheme.family, here, Text("\n".join(lines)))
    return shown


def _as_json(each: Availability) -> dict[str, object]:
    scheme = each.scheme
    return {
        "id": scheme.id,
        "label": scheme.label,
        "family": scheme.family,
        "available": each.available,
        "missing": list(each.missing),
        "version": each.version,
        "weak": scheme.weak,
        "privileges": scheme.privileges,
    }
