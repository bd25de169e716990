"""Do the commands about testbeds do the same on this machine and at a service?"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from api.app import create_app
from rackproof.cli.main import app
from rackproof.model.account import scopes_of
from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from tests.integration.accounts.serving import serving
from tests.inventories import LAB, SECRET

Command = Callable[..., Result]

PLAN = """\
kind: switch-qos
name: One switch
devices: [switch-1]
disciplines: [strict-priority]
load: {per_sender_mbps: [4]}
"""
#: A cable between two ports that this machine does not have.
LOOP = """\
name: lab1
generators: [{name: here, kind: native, ports: [nosuch0, nosuch1]}]
links: [{a: "here:nosuch0", b: "here:nosuch1", speed_mbps: 1000}]
"""


@pytest.fixture(params=["here", "server"])
def command(request: pytest.FixtureRequest, settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """Runs the command line, on the database itself or at a service, as an admin."""
    assert settings.database_url is not None
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("RACKPROOF_DATA_DIR", str(settings.data_dir))
    if request.param == "here":
        monkeypatch.setenv("RACKPROOF_DATABASE_URL", settings.database_url.get_secret_value())
        yield lambda *arguments: CliRunner().invoke(app, list(arguments))
        return
    monkeypatch.setenv("RACKPROOF_DATABASE_URL", "postgresql://127.0.0.1:9/none")
    user = store.accounts.create_user(name="root", role=Role.ADMIN, password=None)
    expires = datetime.now(UTC) + timedelta(hours=1)
    token, _ = store.accounts.create_token(user.id, name="test", scopes=scopes_of(Role.ADMIN), expires=expires)
    monkeypatch.setenv("RACKPROOF_TOKEN", token)
    with serving(create_app(settings, store)) as address:
        yield lambda *arguments: CliRunner().invoke(app, ["--server", address, *arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lab1.yaml"
    path.write_text(LAB)
    return path


def test_an_inventory_is_imported_listed_shown_and_exported(command: Command, file: Path, tmp_path: Path, store: Store) -> None:
    assert "No inventory yet" in command("testbed", "list").stdout
    made = command("testbed", "import", str(file))
    assert made.exit_code == 0, made.output
    assert "testbed lab1, revision 1\n" in made.stdout
    assert "can run switch-qos on switch-1" in made.stdout
    assert "cannot run congestion-control; missing: two hosts" in made.stdout
    assert "lab1" in command("testbed", "list").stdout
    shown = command("testbed", "show", "lab1").stdout
    for words in ("generator trex", "192.0.2.11", "switch-1:enp1s0f1", "fibre", "not checked since it was changed"):
        assert words in shown
    assert json.loads(command("testbed", "show", "lab1", "--json").stdout.splitlines()[-1])["text"] == LAB
    assert command("testbed", "export", "lab1").stdout.endswith(LAB)
    exported = tmp_path / "again.yaml"
    assert command("testbed", "export", "lab1", str(exported)).exit_code == 0
    assert exported.read_text() == LAB
    assert command("testbed", "export", "lab1", str(tmp_path / "no" / "folder")).exit_code == 2
    line = store.audit.list()[0]
    assert (line.action, line.target, line.detail["revision"]) == ("inventory.put", "testbed lab1", 1)


def test_a_literal_password_is_refused_at_its_line(command: Command, file: Path, store: Store) -> None:
    file.write_text(LAB.replace("become: env:SUDO", f"password: {SECRET}"))
    refused = command("testbed", "import", str(file))
    assert refused.exit_code == 2
    assert "line 7: devices[0].credentials.password: expected a reference to the secret" in refused.output
    assert SECRET not in refused.output
    assert store.inventories.list() == []


def test_a_device_that_is_offline_is_shown_and_cleared(command: Command, file: Path, store: Store) -> None:
    command("testbed", "import", str(file))
    store.devices.offline("lab1", "switch-1", "it did not answer")
    shown = command("testbed", "show", "lab1")
    assert "switch-1 is offline" in shown.stderr
    assert "rackproof testbed clear lab1 switch-1" in shown.stderr
    cleared = command("testbed", "clear", "lab1", "switch-1")
    assert cleared.exit_code == 0
    assert cleared.stdout.endswith("switch-1 of testbed lab1 may be used again\n")
    assert store.devices.list() == []
    assert store.audit.list()[0].action == "device.clear"
    assert command("testbed", "clear", "lab1", "switch-1").exit_code == 2


def test_a_plan_for_a_testbed_that_is_not_there_is_refused(command: Command, tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    for name in ("run", "rehearse"):
        refused = command(name, str(plan), "--testbed", "lab7")
        assert refused.exit_code == 2, refused.output
        assert "lab7" in refused.stderr


@pytest.mark.parametrize("command", ["here"], indirect=True)
def test_a_run_on_a_device_that_is_offline_is_refused_with_the_reason(command: Command, file: Path, tmp_path: Path, store: Store) -> None:
    command("testbed", "import", str(file))
    store.devices.offline("lab1", "switch-1", "it did not answer")
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    refused = command("run", str(plan), "--testbed", "lab1")
    assert refused.exit_code == 2, refused.output
    assert "device switch-1, which is offline until somebody clears it: it did not answer" in refused.stderr
    assert store.campaigns() == []


def test_a_check_goes_to_the_hardware_and_keeps_what_it_found(command: Command, file: Path, store: Store) -> None:
    file.write_text(LOOP)
    command("testbed", "import", str(file))
    checked = command("testbed", "check", "lab1")
    if "--server" in checked.stderr:
        # The service may be far from the hardware.
        assert checked.exit_code == 2
        return
    assert checked.exit_code == 3, checked.output
    assert "nosuch0" in checked.stdout
    assert "nosuch0" in command("testbed", "show", "lab1").stdout
    kept = store.inventories.get("lab1")
    assert kept.check is not None
    assert (kept.check["passed"], kept.check["revision"]) == (False, 1)


def test_the_platforms_say_what_they_can_do_and_what_they_were_run_on(command: Command) -> None:
    found = json.loads(command("testbed", "platforms", "--json").stdout.splitlines()[-1])
    assert "qos-scheduler" in found["linux"]["functions"]
    assert all(platform["proven"] for platform in found.values())
