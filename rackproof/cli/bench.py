"""`rackproof bench`: what the virtual bench can do here, and clearing what a killed run may have left."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from orchestrator.bench.leftovers import clean as clean_leftovers
from orchestrator.bench.testbed import Bench
from rackproof.cli import tables
from rackproof.cli.exits import Exit, reported
from rackproof.settings import Settings

app = typer.Typer(help="The virtual bench: network namespaces with real packets.", no_args_is_help=True)
console = Console()


@app.command()
def check(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say what this machine can do, by trying it."""
    with reported(), Bench() as bench:
        probes = bench.probe()
        rights = bench.rights
    if as_json:
        print(json.dumps({"rights": rights, "probes": [asdict(probe) for probe in probes]}))
    else:
        console.print(tables.probes_table(probes))
    if any(probe.needed and not probe.available for probe in probes):
        raise typer.Exit(Exit.LAB_FAILED)


@app.command()
def clean() -> None:
    """Remove whatever a killed run left: processes, an embedded database without users, campaigns shown as running."""
    with reported():
        found = clean_leftovers(Settings.load())
    for line in found:
        console.print(line, highlight=False)
    if not found:
        console.print("Nothing to clean.")
