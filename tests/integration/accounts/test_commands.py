"""Can whoever has the machine make the first account, and let somebody in again?"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner, Result

from rackproof.cli.main import app
from rackproof.model.account import Scope
from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from tests.integration.accounts.serving import PASSWORD

Command = Callable[..., Result]


@pytest.fixture
def command(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Command:
    assert settings.database_url is not None
    monkeypatch.setenv("RACKPROOF_DATA_DIR", str(settings.data_dir))
    monkeypatch.setenv("RACKPROOF_DATABASE_URL", settings.database_url.get_secret_value())

    def run(*arguments: str, stdin: str = "") -> Result:
        return CliRunner().invoke(app, list(arguments), input=stdin)

    return run


def test_the_first_account_is_made_on_the_machine(command: Command, store: Store) -> None:
    made = command("users", "add", "root", "--role", "admin", "--password-stdin", stdin=f"{PASSWORD}\n")
    assert (made.exit_code, made.stdout) == (0, "root may sign in as admin\n"), made.output
    root = store.accounts.by_name("root")
    assert root.role is Role.ADMIN
    assert store.accounts.sign_in("root", PASSWORD, "192.0.2.1") == root
    line = store.audit.list()[0]
    assert (line.action, line.target, line.user_id) == ("user.create", f"user:{root.id}", None)
    assert line.user_name.endswith(" on this machine")
    assert command("users", "add", "ROOT", "--password-stdin", stdin=f"{PASSWORD}\n").exit_code == 2
    short = command("users", "add", "ada", "--password-stdin", stdin="short\n")
    assert (short.exit_code, "expected 12 to 1024 characters" in short.stderr) == (2, True)
    assert len(store.audit.list()) == 1


def test_a_password_is_asked_for_twice_without_echo(command: Command, store: Store) -> None:
    made = command("users", "add", "ada", stdin=f"{PASSWORD}\n{PASSWORD}\n")
    assert made.exit_code == 0, made.output
    assert PASSWORD not in made.output
    assert store.accounts.by_name("ada").role is Role.VIEWER
    assert command("users", "add", "eve", stdin=f"{PASSWORD}\nanother\n").exit_code == 1
    assert [user.name for user in store.accounts.users()] == ["ada"]


def test_letting_in_and_keeping_out(command: Command, store: Store) -> None:
    root = store.accounts.create_user(name="root", role=Role.ADMIN, password=PASSWORD)
    ada = store.accounts.create_user(name="ada", role=Role.VIEWER, password=None)
    last = command("users", "disable", "root")
    assert (last.exit_code, "last admin" in last.stderr) == (2, True)
    assert command("users", "role", "ada", "admin").exit_code == 0
    assert command("users", "disable", "root").exit_code == 0
    assert store.accounts.user(root.id).disabled
    assert command("users", "enable", "root").exit_code == 0
    assert command("users", "password", "ada", "--password-stdin", stdin=f"{PASSWORD}\n").exit_code == 0
    assert store.accounts.sign_in("ada", PASSWORD, "192.0.2.1") == store.accounts.user(ada.id)
    listed = command("users", "list").stdout
    assert [line.split()[0] for line in listed.splitlines()[1:]] == ["root", "ada"]
    assert command("users", "role", "nobody", "admin").exit_code == 2
    assert [line.action for line in store.audit.list()] == ["user.credentials", "user.change", "user.change", "user.change"]


def test_a_token_is_printed_alone(command: Command, store: Store) -> None:
    store.accounts.create_user(name="ci", role=Role.ENGINEER, password=None)
    made = command("token", "new", "ci", "--name", "nightly", "--scope", "submit", "--days", "7")
    assert made.exit_code == 0, made.output
    known = store.accounts.by_token(made.stdout.strip())
    assert known is not None
    user, token = known
    assert (user.name, token.name, token.scopes) == ("ci", "nightly", frozenset({Scope.SUBMIT}))
    assert timedelta(days=6) < token.expires - datetime.now(UTC) < timedelta(days=8)
    assert command("token", "new", "ci", "--scope", "admin").exit_code == 2
