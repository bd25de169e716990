"""The commands about testbeds of real parts."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from rackproof.cli.exits import Exit, reported, stderr
from rackproof.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackproof.client.values import Fit, Inventory, OfflineDevice
    from rackproof.model.inventory import Inventory as Parts

_FINDING = {"ok": "green", "failed": "bold red", "unknown": "yellow"}
console = Console()
Name = Annotated[str, typer.Argument(help="The testbed's name.", metavar="NAME")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script instead of tables.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    testbed = typer.Typer(help="Testbeds of real devices and generators: their inventories (docs/testbeds.md).", no_args_is_help=True)
    app.add_typer(testbed, name="testbed")
    testbed.command("list")(list_all)
    testbed.command("show")(show)
    testbed.command("import")(import_file)
    testbed.command("export")(export)
    testbed.command("check")(check)
    testbed.command("clear")(clear)
    testbed.command("platforms")(list_platforms)


def list_all(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the inventories."""
    from rich.table import Table

    from rackproof.cli.inventories import inventories

    with reported(), inventories(ctx.obj) as found:
        listed = found.list()
    if as_json:
        print(json.dumps([each.model_dump(mode="json") for each in listed]))
        return
    if not listed:
        console.print("No inventory yet. Import one: rackproof testbed import FILE (docs/testbeds.md has an example)", soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False)
    for title in ("testbed", "revision", "changed", "by", "checked"):
        table.add_column(title)
    for each in listed:
        checked = f"{each.checked:%Y-%m-%d %H:%M %Z}" if each.checked is not None else "not since it was changed"
        table.add_row(each.name, str(each.revision), f"{each.changed:%Y-%m-%d %H:%M %Z}", escape(each.changed_by), checked)
    console.print(table)


def show(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Show a testbed: its parts and cables, the kinds of plan that it can run, and what its last check found."""
    from rackproof.cli.inventories import inventories

    with reported(), inventories(ctx.obj) as found:
        inventory, offline = found.get(name), found.offline_devices(name)
    if as_json:
        devices = [each.model_dump(mode="json") for each in offline]
        print(json.dumps({**inventory.model_dump(mode="json"), "offline_devices": devices}))
        return
    _show(inventory, offline)


def import_file(
    ctx: typer.Context, file: Annotated[Path, typer.Argument(help="An inventory (YAML).", metavar="FILE", show_default=False)]
) -> None:
    """Read an inventory and keep it, in place of an earlier one of its name."""
    from rackproof.cli.inventories import inventories
    from rackproof.inventory import read_inventory

    with reported():
        written, parts = read_inventory(file)
        with inventories(ctx.obj) as found:
            kept = found.put(parts.name, written.text, source=str(file))
    console.print(f"testbed {kept.name}, revision {kept.revision}", markup=False, highlight=False)
    for objection in _objections(parts):
        stderr.print(f"[yellow]warning:[/] {escape(objection)}", highlight=False)
    _show_kinds(kept.kinds)


def export(
    ctx: typer.Context,
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="Where to write it; without it, standard output.", metavar="FILE")] = None,
) -> None:
    """Write an inventory as it was written, to be kept or imported elsewhere. Secrets are references in it."""
    from rackproof.cli.inventories import inventories

    with reported(), inventories(ctx.obj) as found:
        text = found.get(name).text
    if file is None:
        sys.stdout.write(text)
        return
    try:
        file.write_text(text)
    except OSError as error:
        stderr.print(f"[bold red]error:[/] {escape(str(file))}: {error.strerror}")
        raise typer.Exit(Exit.BAD_INPUT) from None


def check(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Go to the hardware: reach every device, read what it is, look at links, loopback and clock; what is found is kept and shown.

    Nothing is configured. The exit code is 0 where nothing failed, else 3.
    """
    from orchestrator.interruption import Interruption
    from orchestrator.lab.checking import check as go
    from rackproof.cli.signals import stopping
    from rackproof.settings import Settings
    from rackproof.store import Store

    interruption = Interruption()
    try:
        with reported():
            if ctx.obj is not None:
                raise SettingsError(
                    "a check goes to the hardware from this machine: run it where the testbed's worker runs, without --server"
                )
            with stopping(), Store.open(Settings.load()) as store:
                found = go(store, name, lambda line: stderr.print(escape(line), style="dim", highlight=False), interruption)
    finally:
        interruption.close()
    if as_json:
        print(json.dumps(found.plain()))
    else:
        _show_check(found.plain())
    if not found.passed:
        raise typer.Exit(Exit.LAB_FAILED)


def clear(
    ctx: typer.Context, name: Name, device: Annotated[str, typer.Argument(help="A device that is offline.", metavar="DEVICE")]
) -> None:
    """Let campaigns have a device again that was taken offline, once somebody has looked at it."""
    from rackproof.cli.inventories import inventories

    with reported(), inventories(ctx.obj) as found:
        found.clear_device(name, device)
    console.print(f"{device} of testbed {name} may be used again", markup=False, highlight=False)


def list_platforms(as_json: AsJson = False) -> None:
    """List the platforms that devices may have, what each can do, and what it was run on."""
    from rich.table import Table

    from orchestrator.devices.platforms import platforms

    found = platforms()
    if as_json:
        keys = ("title", "proven")
        print(
            json.dumps({name: {key: getattr(each, key) for key in keys} | {"functions": [*each.functions]} for name, each in found.items()})
        )
        return
    table = Table(box=None, pad_edge=False)
    for title in ("platform", "what it is", "functions", "proven"):
        table.add_column(title)
    for name, each in found.items():
        table.add_row(name, escape(each.title), ", ".join(each.functions), escape(each.proven))
    console.print(table)


def _objections(parts: "Parts") -> "Iterator[str]":
    """What platforms and drivers say against the entries of an inventory, found without touching anything."""
    from orchestrator.devices.platforms import entry_objections
    from orchestrator.generators.registry import driver
    from rackproof.errors import NotFound

    for device in parts.devices:
        yield from entry_objections(device)
    for generator in parts.generators:
        try:
            said = driver(generator.kind).objections(generator)
        except NotFound as error:
            said = (str(error),)
        yield from (f"{generator.name}: {each}" for each in said)


def _show(inventory: "Inventory", offline: "list[OfflineDevice]") -> None:
    from rich.table import Table

    data: Any = inventory.data
    console.print(f"[bold]{inventory.name}[/]  {escape(data.get('description', ''))}", soft_wrap=True, highlight=False)
    console.print(f"revision {inventory.revision}, changed {inventory.changed:%Y-%m-%d %H:%M %Z} by {escape(inventory.changed_by)}")
    for one in offline:
        stderr.print(f"[bold yellow]{escape(one.device)} is offline[/] since {one.since:%Y-%m-%d %H:%M %Z}: {escape(one.reason)}")
        stderr.print(f"  once it is well again: rackproof testbed clear {one.testbed} {escape(one.device)}", highlight=False)
    parts = Table(box=None, pad_edge=False, title="Parts", title_justify="left", title_style="bold")
    for title in ("name", "what", "address", "ports"):
        parts.add_column(title)
    for device in data.get("devices", ()):
        parts.add_row(device["name"], device["platform"], device["address"])
    for generator in data.get("generators", ()):
        parts.add_row(generator["name"], f"generator {generator['kind']}", generator.get("address", ""), ", ".join(generator["ports"]))
    for host in data.get("hosts", ()):
        parts.add_row(host["name"], "host", host["address"], host["test_address"])
    console.print(parts)
    cables = Table(box=None, pad_edge=False, title="Cables", title_justify="left", title_style="bold")
    for title in ("from", "to", "Mbit/s", "media"):
        cables.add_column(title)
    for link in data.get("links", ()):
        cables.add_row(link["a"], link["b"], f"{link['speed_mbps']:g}", link.get("media", "copper"))
    console.print(cables)
    _show_kinds(inventory.kinds)
    if inventory.checked is None:
        console.print(f"not checked since it was changed: rackproof testbed check {inventory.name}", highlight=False)
    else:
        console.print(f"checked {inventory.checked:%Y-%m-%d %H:%M %Z}", highlight=False)
        _show_check(inventory.check or {})


def _show_kinds(kinds: "tuple[Fit, ...]") -> None:
    for fit in kinds:
        if fit.missing:
            console.print(f"[yellow]cannot run[/] {fit.kind}; missing: {escape('; '.join(fit.missing))}", soft_wrap=True, highlight=False)
        else:
            on = f" on {', '.join(fit.devices)}" if fit.devices else ""
            console.print(f"[green]can run[/] {fit.kind}{escape(on)}", soft_wrap=True, highlight=False)


def _show_check(found: "Mapping[str, Any]") -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in ("what", "result", "found"):
        table.add_column(title)
    for item in found.get("items", ()):
        facts = "".join(f"\n{name}: {value}" for name, value in item["facts"].items())
        table.add_row(escape(item["what"]), Text(item["finding"], style=_FINDING.get(item["finding"], "")), escape(item["text"] + facts))
    console.print(table)
