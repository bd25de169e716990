"""The commands about Pantheon's files: import of a directory as a campaign, export of a campaign as a directory."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from rackproof.cli.exits import reported

console = Console()
importing = typer.Typer(help="Bring in what was measured elsewhere, as a campaign.", no_args_is_help=True)
exporting = typer.Typer(help="Write a campaign down in the form of another tool.", no_args_is_help=True)

Campaign = Annotated[str, typer.Argument(help="A campaign's number, or `latest`.", metavar="CAMPAIGN")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(importing, name="import")
    app.add_typer(exporting, name="export")
    importing.command("pantheon")(import_pantheon)
    exporting.command("pantheon")(export_pantheon)
    # A group of one command would be that command.
    for group in (importing, exporting):
        group.callback()(_group)


def _group() -> None:
    pass


def import_pantheon(
    folder: Annotated[Path, typer.Argument(help="A directory of Pantheon's logs and metadata.", metavar="DIR", show_default=False)],
) -> None:
    """Import a directory of Pantheon's logs and metadata as a campaign."""
    from rackproof.cli import tables
    from rackproof.settings import Settings
    from rackproof.store import Store
    from testplans.congestion_control.pantheon.importing import import_directory
    from testplans.registry import kind

    with reported():
        with Store.open(Settings.load()) as store:
            record = store.campaign(import_directory(folder, store))
        chosen = kind(record.kind)
        for table in chosen.comparison(record):
            console.print(tables.report_table(table))
    for trial in record.trials:
        if trial.result is not None and trial.result.reason:
            console.print(f"[yellow]{escape(trial.trial.label)}:[/] {escape(trial.result.reason)}", soft_wrap=True, highlight=False)
    text = f"campaign {record.id}: {len(record.trials)} runs imported from {folder}; `rackproof report {record.id}` writes the report"
    console.print(text, soft_wrap=True, highlight=False, markup=False)


def export_pantheon(
    campaign: Campaign,
    folder: Annotated[Path, typer.Argument(help="Where to write; made if it is not there.", metavar="DIR", show_default=False)],
) -> None:
    """Export a congestion-control campaign as Pantheon's logs, metadata and results."""
    from rackproof.cli.find import find
    from rackproof.settings import Settings
    from rackproof.store import Store
    from testplans.congestion_control.pantheon.exporting import export_campaign

    with reported(), Store.open(Settings.load()) as store:
        written = export_campaign(find(store, campaign), store, folder)
    console.print(f"{written} files written to {folder}", soft_wrap=True, highlight=False, markup=False)
