"""The commands about starting and stopping the service."""

from pathlib import Path
from typing import Annotated

import typer

Host = Annotated[str, typer.Option("--host", help="Address to listen on. Others than this machine's own need TLS: see docs/service.md.")]
Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0: any that is free.")]
Certificate = Annotated[Path | None, typer.Option("--tls-certificate", exists=True, dir_okay=False, help="Certificate chain (PEM).")]
Key = Annotated[Path | None, typer.Option("--tls-key", exists=True, dir_okay=False, help="The certificate's key (PEM).")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(up)
    app.command()(serve)
    app.command()(migrate)


def up(
    host: Host = "127.0.0.1",
    port: Port = 8642,
    testbed: Annotated[list[str] | None, typer.Option("--testbed", help="A testbed that this machine serves; may be repeated.")] = None,
    no_bench: Annotated[bool, typer.Option("--no-bench", help="Serve no testbed: reports and schedules only.")] = False,
    name: Annotated[str | None, typer.Option("--name", help="The worker's name; the machine's by default.")] = None,
    tls_certificate: Certificate = None,
    tls_key: Key = None,
) -> None:
    """Run everything on this machine: database, API and a worker; Ctrl-C ends it."""
    from rackproof.cli.exits import reported
    from rackproof.cli.upstart import Wish, become_supervisor

    testbeds = () if no_bench else tuple(testbed or ("bench",))
    with reported():
        become_supervisor(Wish(host=host, port=port, testbeds=testbeds, name=name, certificate=tls_certificate, key=tls_key))


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8642,
    tls_certificate: Certificate = None,
    tls_key: Key = None,
    fd: Annotated[int | None, typer.Option("--fd", hidden=True, help="A socket that listens already.")] = None,
) -> None:
    """Run the API (workers are processes of their own: `rackproof worker`)."""
    from rackproof.cli.exits import reported
    from rackproof.cli.serving import listen, serve_api

    with reported():
        serve_api(listen(host, port) if fd is None else fd, tls_certificate, tls_key)


def migrate() -> None:
    """Bring the database's schema up to date, and say which it is; every other command does so too when it begins."""
    from rackproof.cli.exits import reported
    from rackproof.settings import Settings
    from rackproof.store import Store
    from rackproof.store.schema import HEAD

    with reported(), Store.open(Settings.load()):
        print(f"the database is up to date (schema {HEAD})")
