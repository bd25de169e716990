"""The commands about the queue: what waits, what has a testbed, cancel and retry; here or at a server."""

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from rackproof.cli.exits import reported

console = Console()

Campaign = Annotated[str, typer.Argument(help="A campaign's number, or `latest`.", metavar="CAMPAIGN")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script instead of a table.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(cancel)
    app.command()(retry)
    app.command("queue")(show_queue)
    app.command("testbeds")(list_testbeds)


def cancel(
    ctx: typer.Context, campaign: Campaign, why: Annotated[str, typer.Option("--why", help="The reason; it stands in the report.")] = ""
) -> None:
    """End a campaign wherever it is: the device is restored, what was measured stays."""
    if ctx.obj is not None:
        from rackproof.cli import remote

        with remote.connected(ctx.obj) as client:
            number = remote.find(client, campaign)
            client.cancel(number, why)
    else:
        from rackproof.cli.find import find
        from rackproof.settings import Settings
        from rackproof.store import Store

        with reported(), Store.open(Settings.load()) as store:
            number = find(store, campaign).id
            store.queue.cancel(number, "cancelled on this machine" + (f": {why}" if why else ""))
    console.print(f"campaign {number} ends")


def retry(ctx: typer.Context, campaign: Campaign) -> None:
    """Measure again what gave no valid result; a worker does it."""
    if ctx.obj is not None:
        from rackproof.cli import remote

        with remote.connected(ctx.obj) as client:
            number = remote.find(client, campaign)
            trials = client.retry(number)
    else:
        from rackproof.cli.find import find
        from rackproof.settings import Settings
        from rackproof.store import Store

        with reported(), Store.open(Settings.load()) as store:
            number = find(store, campaign).id
            trials = store.queue.retry(number)
    console.print(f"campaign {number} is in the queue: {trials} {'trial is' if trials == 1 else 'trials are'} measured again")


def show_queue(
    ctx: typer.Context,
    testbed: Annotated[str | None, typer.Argument(help="This testbed alone.", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Show what has a testbed or waits for one, in the order in which it is expected to start."""
    from pydantic import TypeAdapter

    from rackproof.cli import tables
    from rackproof.client.values import Place

    if ctx.obj is not None:
        from rackproof.cli import remote

        with remote.connected(ctx.obj) as client:
            places = client.queue(testbed)
    else:
        from rackproof.settings import Settings
        from rackproof.store import Store

        with reported(), Store.open(Settings.load()) as store:
            places = [Place.model_validate(each, from_attributes=True) for each in store.queue.forecast(testbed)]
    if as_json:
        print(json.dumps(TypeAdapter(list[Place]).dump_python(places, mode="json")))
    elif places:
        console.print(tables.queue_table(places))
    else:
        console.print("Nothing waits." if testbed is None else f"Nothing waits for {escape(testbed)}.")


def list_testbeds(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the testbeds, and who uses them."""
    from pydantic import TypeAdapter

    from rackproof.cli import tables
    from rackproof.client.values import Testbed

    if ctx.obj is not None:
        from rackproof.cli import remote

        with remote.connected(ctx.obj) as client:
            found = client.testbeds()
    else:
        from rackproof.settings import Settings
        from rackproof.store import Store

        with reported(), Store.open(Settings.load()) as store:
            found = [Testbed.model_validate(each, from_attributes=True) for each in store.testbeds.list()]
    if as_json:
        print(json.dumps(TypeAdapter(list[Testbed]).dump_python(found, mode="json")))
    elif found:
        console.print(tables.testbeds_table(found))
    else:
        console.print("No testbed yet: a worker announces its own.")
