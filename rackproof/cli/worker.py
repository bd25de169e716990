"""The commands about workers."""

import json
from typing import Annotated

import typer

from rackproof.cli.exits import Exit, reported, stderr

Name = Annotated[str, typer.Option("--name", help="The worker's name, one for each process; the host's name by default.", metavar="SITE")]
Testbeds = Annotated[
    list[str] | None,
    typer.Option("--testbed", help="A testbed that it serves, and its driver where that has another name.", metavar="NAME[=DRIVER]"),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    worker = typer.Typer()
    app.add_typer(worker, name="worker")
    worker.callback(invoke_without_command=True)(run)
    worker.command("list")(show)
    worker.command("adopt")(adopt)


def run(
    ctx: typer.Context,
    name: Name = "",
    testbed: Testbeds = None,
    no_testbed: Annotated[bool, typer.Option("--no-testbed", help="Serve none: reports, schedules and digests only.")] = False,
) -> None:
    """Run what waits in the queue on testbeds of this host until SIGTERM or Ctrl-C; campaigns under way then go on with the next start."""
    if ctx.invoked_subcommand is not None:
        return
    import logging
    import os
    import signal
    import socket
    import sys

    from orchestrator.service.worker import Worker
    from orchestrator.testbeds import parse
    from rackproof.logs import configure
    from rackproof.settings import Settings
    from rackproof.store import Store

    configure(service=True)
    with reported():
        settings = Settings.load()
        with Store.open(settings) as store:
            served = () if no_testbed else tuple(testbed or ("bench",))
            worker = Worker(settings, store, name or socket.gethostname(), dict(parse(each) for each in served))
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, lambda _number, _frame: worker.stop())
            worker.run()
    # What still waits in a thread waits for nothing: all that it had was given back.
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


def show(as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a script instead of a table.")] = False) -> None:
    """List the workers that there are, and what they run."""
    from pydantic import TypeAdapter
    from rich.console import Console
    from rich.table import Table

    from rackproof.settings import Settings
    from rackproof.store import Store
    from rackproof.store.workers import WorkerRecord

    with reported(), Store.open(Settings.load()) as store:
        found = store.workers.list()
    if as_json:
        print(json.dumps(TypeAdapter(list[WorkerRecord]).dump_python(found, mode="json")))
        return
    table = Table(box=None)
    for title in ("worker", "alive", "host", "testbeds", "runs", "heard of"):
        table.add_column(title)
    for one in found:
        campaigns = ", ".join(map(str, one.campaigns))
        table.add_row(
            one.name, "yes" if one.alive else "no", one.host, ", ".join(one.testbeds), campaigns, f"{one.seen:%Y-%m-%d %H:%M:%S %Z}"
        )
    Console().print(table)


def adopt(name: Annotated[str, typer.Argument(help="The worker that will not come back.")]) -> None:
    """Let other workers adopt what a worker has, now, without waiting for its time to run out."""
    from rackproof.settings import Settings
    from rackproof.store import Store

    with reported(), Store.open(Settings.load()) as store:
        left = [campaign for one in store.workers.list() if one.name == name for campaign in one.campaigns]
        store.workers.declare_dead(name)
    words = ", ".join(map(str, left))
    stderr.print(
        f"worker {name} is taken for dead" + (f"; campaigns {words} go on where another worker serves their testbeds" if left else "")
    )
    raise typer.Exit(Exit.PASS)
