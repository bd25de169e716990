"""The commands about backup and restore."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from rackproof.cli.exits import Exit, reported, stderr

if TYPE_CHECKING:
    from rackproof.store.backup import Backup

_MISSING_SHOWN = 20
console = Console()


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(backup)
    app.command()(restore)


def backup(
    file: Annotated[Path, typer.Argument(help="Where to write it; a file of that name is replaced.", metavar="FILE", show_default=False)],
) -> None:
    """Write everything into one file: database, samples and reports. The service may go on meanwhile."""
    from rackproof.settings import Settings
    from rackproof.store import Store
    from rackproof.store.backup import backup as write

    with reported():
        settings = Settings.load()
        with Store.open(settings) as store:
            _say("written", write(settings, store, file.absolute()))


def restore(
    file: Annotated[Path, typer.Argument(help="A file that `rackproof backup` wrote.", metavar="FILE", show_default=False)],
    replace: Annotated[bool, typer.Option("--replace", help="Lose what is in the database now.")] = False,
) -> None:
    """Put everything back from one file. Stop the service first."""
    from rackproof.settings import Settings
    from rackproof.store import Store
    from rackproof.store.restore import restore as put_back

    with reported():
        settings = Settings.load()
        with Store.open(settings) as store:
            _say("put back", put_back(settings, store, file.absolute(), replace=replace))


def _say(done: str, found: "Backup") -> None:
    counted = f"database, {found.samples} files of samples, {found.reports} files of reports"
    console.print(f"{done}: {found.path}, {found.bytes / 1e6:.1f} MB: {counted}", soft_wrap=True, highlight=False)
    for line in found.missing[:_MISSING_SHOWN]:
        stderr.print(f"[yellow]not in it:[/] {escape(line)}")
    if found.missing:
        stderr.print(f"[bold red]not whole:[/] {len(found.missing)} files that the database names are not in the backup")
        raise typer.Exit(Exit.LAB_FAILED)
