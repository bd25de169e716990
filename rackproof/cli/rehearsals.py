"""How does the terminal show a rehearsal, made on this machine or by a service?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer
from pydantic import TypeAdapter
from rich.console import Console
from rich.markup import escape

from rackproof.cli import tables
from rackproof.cli.exits import Exit, stderr

if TYPE_CHECKING:
    from rackproof.client import values
    from testplans.kind import Rehearsal


def show(rehearsal: Rehearsal | values.Rehearsal, lines: Iterable[tuple[int, str, float, str]], as_json: bool) -> None:
    """Print it; lines: index, label, seconds and what will happen, of every trial. Raises typer.Exit where the plan is refused."""
    if as_json:
        print(TypeAdapter(type(rehearsal)).dump_json(rehearsal).decode())
    else:
        console = Console()
        console.print(tables.rehearsed_table(lines))
        minutes, seconds = divmod(round(rehearsal.duration_s), 60)
        console.print(f"{len(rehearsal.trials)} trials, about {minutes} min {seconds} s of traffic")
        for warning in rehearsal.warnings:
            console.print(f"[yellow]warning:[/] {escape(warning)}")
    for refusal in rehearsal.refusals:
        stderr.print(f"[bold red]refused:[/] {escape(refusal)}")
    if rehearsal.refusals:
        raise typer.Exit(Exit.BAD_INPUT)
