"""The commands about accounts. Those about users speak to the database: whoever reaches it needs no account."""

import getpass
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from rackproof.cli.exits import Exit, reported, stderr
from rackproof.model.account import Scope, scopes_of
from rackproof.model.service import Role

if TYPE_CHECKING:
    from rackproof.store import Store

console = Console()
UserName = Annotated[str, typer.Argument(help="The user's name.", metavar="NAME")]
RoleOption = Annotated[Role, typer.Option("--role", help="viewer reads, engineer measures, admin keeps the house.")]
FromStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input, its first line.")]
Days = Annotated[int, typer.Option("--days", min=1, max=365, help="How long it is good for [days].")]
Scopes = Annotated[list[Scope] | None, typer.Option("--scope", help="What it may do; repeat it. By default all that the role may.")]
Url = Annotated[str, typer.Argument(help="The service's address.", metavar="URL")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    users = typer.Typer(help="Accounts, in the database of this machine's settings.", no_args_is_help=True)
    app.add_typer(users, name="users")
    users.command("add")(add)
    users.command("list")(show)
    users.command("role")(change_role)
    users.command("disable")(disable)
    users.command("enable")(enable)
    users.command("password")(password)
    token = typer.Typer(help="API tokens, in the database of this machine's settings.", no_args_is_help=True)
    app.add_typer(token, name="token")
    token.command("new")(new_token)
    app.command()(login)
    app.command()(logout)


def add(name: UserName, role: RoleOption = Role.VIEWER, password_stdin: FromStdin = False, full_name: str = "", email: str = "") -> None:
    """Make a user. The first one should be an admin."""
    with reported():
        secret = _asked(twice=True, stdin=password_stdin)
        with _doing("user.create", role=role) as (store, target):
            user = store.accounts.create_user(name=name, role=role, password=secret, full_name=full_name, email=email)
            target.append(user.id)
    console.print(f"{user.name} may sign in as {user.role.value}", markup=False)


def show() -> None:
    """List the users."""
    from rich.table import Table

    from rackproof.settings import Settings
    from rackproof.store import Store

    with reported(), Store.open(Settings.load()) as store:
        found = store.accounts.users()
    table = Table(box=None)
    for title in ("name", "role", "signs in by", "disabled", "seen"):
        table.add_column(title)
    for user in found:
        how = "OpenID" if user.oidc_issuer is not None else "password" if user.local else "nothing yet"
        seen = f"{user.seen:%Y-%m-%d %H:%M %Z}" if user.seen is not None else "never"
        table.add_row(user.name, user.role.value, how, "yes" if user.disabled else "", seen)
    console.print(table)


def change_role(name: UserName, role: Annotated[Role, typer.Argument(help="The new role.")]) -> None:
    """Give a user another role; it counts from the next request on."""
    with reported(), _doing("user.change", role=role) as (store, target):
        user = store.accounts.by_name(name)
        target.append(user.id)
        store.accounts.update_user(user.id, role=role)
    console.print(f"{user.name} is {role.value} now", markup=False)


def disable(name: UserName) -> None:
    """Keep a user out, at once; what they did stays."""
    _set_disabled(name, disabled=True)


def enable(name: UserName) -> None:
    """Let a user in again."""
    _set_disabled(name, disabled=False)


def password(name: UserName, password_stdin: FromStdin = False) -> None:
    """Give a user a new password. Every session ends, and failed attempts to sign in are forgotten."""
    with reported():
        secret = _asked(twice=True, stdin=password_stdin)
        with _doing("user.credentials") as (store, target):
            user = store.accounts.by_name(name)
            target.append(user.id)
            store.accounts.set_password(user.id, secret)
    console.print(f"{user.name} has a new password", markup=False)


def new_token(
    name: UserName,
    label: Annotated[str, typer.Option("--name", help="What the token is for.")] = "command line",
    scope: Scopes = None,
    days: Days = 90,
) -> None:
    """Make an API token for a user and print it, this once."""
    expires = datetime.now(UTC) + timedelta(days=days)
    with reported(), _doing("token.create", expires=expires.isoformat()) as (store, target):
        user = store.accounts.by_name(name)
        secret, _ = store.accounts.create_token(user.id, name=label, scopes=scope or scopes_of(user.role), expires=expires)
        target.append(user.id)
    stderr.print(f"good until {expires:%Y-%m-%d}; it is not shown again:")
    print(secret)


def login(
    url: Url,
    name: Annotated[str | None, typer.Option("--name", help="Your name there; asked for where it is missing.")] = None,
    password_stdin: FromStdin = False,
    token_stdin: Annotated[bool, typer.Option("--token-stdin", help="Read a token that was made before from standard input.")] = False,
    scope: Scopes = None,
    days: Days = 90,
) -> None:
    """Sign in at a service: a token is kept for it, readable by you alone."""
    import socket

    from rackproof.cli import keyring
    from rackproof.client import Client

    with reported():
        if token_stdin:
            secret = sys.stdin.readline().strip()
        else:
            user = name or typer.prompt("name", err=True)
            expires = datetime.now(UTC) + timedelta(days=days)
            with Client(url) as client:
                label = f"rackproof login on {socket.gethostname()}"[:100]
                typed = _asked(twice=False, stdin=password_stdin)
                secret = client.new_token(user=user, password=typed, name=label, scopes=scope, expires=expires).secret
        with Client(url, secret) as client:
            who = client.who()
        keyring.keep(url, secret)
    stderr.print(f"signed in as {who.user.name}; the token is in {keyring.path()}", markup=False, highlight=False)


def logout(url: Url) -> None:
    """Revoke the token that is kept for a service, and forget it."""
    from rackproof.cli import keyring
    from rackproof.client import Client

    with reported():
        secret = keyring.kept(url)
        if secret is None:
            stderr.print("no token is kept for this service", markup=False)
            raise typer.Exit(Exit.BAD_INPUT)
        try:
            with Client(url, secret) as client:
                client.revoke_this_token()
        finally:
            # Even where the service is gone: whoever asks for this wants the token off this machine.
            keyring.keep(url, None)
    stderr.print("signed out", markup=False)


def _set_disabled(name: str, *, disabled: bool) -> None:
    with reported(), _doing("user.change", disabled=disabled) as (store, target):
        user = store.accounts.by_name(name)
        target.append(user.id)
        store.accounts.update_user(user.id, disabled=disabled)
    console.print(f"{user.name} is {'disabled' if disabled else 'enabled'}", markup=False)


@contextmanager
def _doing(action: str, **detail: object) -> "Iterator[tuple[Store, list[int]]]":
    """A store in which everything done within is one transaction with its line in the audit trail; the list takes the user's id."""
    from rackproof.settings import Settings
    from rackproof.store import Store

    target: list[int] = []
    with Store.open(Settings.load()) as store, store.transactions.together(f"{action} could not be done"):
        yield store, target
        doer = f"{getpass.getuser()} on this machine"
        store.audit.record(user=None, user_name=doer, action=action, target=f"user:{target[0]}" if target else "", detail=detail)


def _asked(*, twice: bool, stdin: bool) -> str:
    if stdin:
        return sys.stdin.readline().rstrip("\r\n")
    return str(typer.prompt("password", hide_input=True, confirmation_prompt=twice, err=True))
