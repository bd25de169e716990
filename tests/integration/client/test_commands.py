"""Does `rackproof --server URL` do at a service what it does here, with the same exit codes?"""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from rackproof.cli import keyring
from rackproof.cli.main import app
from rackproof.client import Client, NotAllowed
from rackproof.model.service import Role
from tests.integration.client.conftest import PASSWORD, WAIT_S, Service
from tests.integration.client.plans import nothing

Command = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's machine, which has no database."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("RACKPROOF_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("RACKPROOF_DATABASE_URL", "postgresql://127.0.0.1:9/none")
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def command(service: Service, home: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs the command line against the service, as an engineer."""
    monkeypatch.setenv("RACKPROOF_TOKEN", service.tokens[Role.ENGINEER])

    def run(*arguments: str, server: str = service.url, **options: Any) -> Result:
        return CliRunner().invoke(app, ["--server", server, *arguments], **options)

    return run


def _file(folder: Path, text: str) -> str:
    path = folder / "plan.yaml"
    path.write_text(text)
    return str(path)


def test_run_follows_the_campaign_and_fetches_the_report(command: Command, home: Path) -> None:
    plan = _file(home, nothing("by command", trials=3))
    done = command("run", plan, "--pdf", str(home / "out.pdf"))
    assert done.exit_code == 0, done.output
    assert "runs 3 trials" in done.output
    assert "trial 3/3" in done.output
    assert "PASS" in done.output
    assert (home / "out.pdf").read_bytes().startswith(b"%PDF-")
    assert (home / "out.html").exists()
    again = command("run", plan, "--json")
    assert again.exit_code == 0
    found = json.loads(again.stdout)
    assert (found["name"], found["verdict"]) == ("by command", "PASS")
    (pdf,) = (home / "data" / "reports").glob("127.0.0.1-*-campaign-*.pdf")
    assert str(found["id"]) in pdf.name


def test_exit_codes_are_those_of_a_run_here(command: Command, home: Path) -> None:
    fails = _file(home, nothing("fails", value=3.0, limit=2.0))
    assert command("run", fails).exit_code == 1
    broken = _file(home, "kind: nothing\nname: x\ntrials: many\n")
    refused = command("run", broken)
    assert refused.exit_code == 2
    assert f"{broken}: the plan cannot be used" in refused.stderr
    assert "line 3: trials" in refused.stderr
    assert command("run", str(home / "missing.yaml")).exit_code == 2
    assert command("run", _file(home, nothing(testbed="elsewhere"))).exit_code == 2
    assert command("show", "987654321").exit_code == 2
    assert command("list", server="http://127.0.0.1:9").exit_code == 3


def test_a_token_that_does_not_reach_is_bad_input(command: Command, service: Service, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RACKPROOF_TOKEN", service.tokens[Role.VIEWER])
    refused = command("run", _file(home, nothing()))
    assert refused.exit_code == 2
    assert "expected the role engineer" in refused.stderr
    monkeypatch.delenv("RACKPROOF_TOKEN")
    assert command("list").exit_code == 2


def test_looking_and_deciding(command: Command, service: Service, home: Path) -> None:
    with service.client() as client:
        number = client.submit(nothing("waits to be cancelled", sleep_s=300))
        table = command("queue")
        assert "waits to be cancelled" in table.output
        queue = json.loads(command("queue", "nothing", "--json").stdout)
        assert number in [place["campaign"] for place in queue]
        cancelled = command("cancel", str(number), "--why", "enough")
        assert cancelled.exit_code == 0, cancelled.output
        for _ in client.events(number):
            pass
    assert command("cancel", "latest").exit_code == 2
    shown = command("show", str(number))
    assert "ABORTED" in shown.output
    assert "enough" in shown.output
    assert json.loads(command("show", "latest", "--json").stdout)["id"] == number
    assert [each["id"] for each in json.loads(command("list", "--limit", "1", "--json").stdout)] == [number]
    assert "waits to be cancelled" in command("list").output
    assert "ONLINE" in command("testbeds").output
    assert json.loads(command("testbeds", "--json").stdout)[0]["name"] == "nothing"
    assert "switch-qos" in command("kinds").output
    assert json.loads(command("kinds", "--json").stdout)["nothing"]["schema"]["properties"]
    rehearsed = command("rehearse", _file(home, nothing(trials=4)))
    assert (rehearsed.exit_code, "4 trials" in rehearsed.output) == (0, True), rehearsed.output
    report = json.loads(command("report", str(number), "--pdf", str(home / "again.pdf"), "--json").stdout)
    assert Path(report["pdf"]).read_bytes().startswith(b"%PDF-")


def test_retry_and_resume(command: Command, service: Service, home: Path) -> None:
    plant = [{"trials": [2], "verdict": "INVALID", "times": 50}]
    with service.client() as client:
        number = client.submit(nothing("planted", plant=plant, marker=str(home / "marks")))
        for _ in client.events(number):
            pass
        again = command("retry", str(number))
        assert "1 trial is measured again" in again.output
        for _ in client.events(number, after=client.last_event(number)):
            pass
        long = client.submit(nothing("in the way", sleep_s=300))
        stopped = client.submit(nothing("resumed", trials=2))
        for each in (stopped, long):
            client.cancel(each)
            for _ in client.events(each):
                pass
        assert client.campaign(stopped).trials_done == 0
    assert command("resume", str(number)).exit_code == 2
    resumed = command("resume", str(stopped), "--pdf", str(home / "resumed.pdf"))
    assert resumed.exit_code == 0, resumed.output
    assert "trial 2/2" in resumed.output
    assert (home / "resumed.pdf").exists()


def test_a_signal_leaves_the_campaign_to_the_service(service: Service, home: Path) -> None:
    plan = _file(home, nothing("goes on", trials=2, sleep_s=2))
    environment = {**os.environ, "RACKPROOF_TOKEN": service.tokens[Role.ENGINEER], "RACKPROOF_SERVER": service.url}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.kinds.launch", "run", plan],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = ""
        while "runs 2 trials" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=WAIT_S)
    finally:
        process.kill()
    assert process.returncode == 3, said + rest
    assert "goes on at" in rest
    with service.client() as client:
        newest = next(iter(client.campaigns(page=1)))
        assert newest.name == "goes on"
        for _ in client.events(newest.id):
            pass
        assert client.campaign(newest.id).verdict == "PASS"


def test_login_keeps_a_token_that_only_its_owner_can_read(service: Service, home: Path) -> None:
    runner = CliRunner()
    done = runner.invoke(app, ["login", service.url, "--name", "viewer", "--password-stdin"], input=f"{PASSWORD}\n")
    assert done.exit_code == 0, done.output
    assert PASSWORD not in done.output
    path = keyring.path()
    assert path.is_relative_to(home)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    token = keyring.kept(f"{service.url}/")
    assert token is not None
    assert runner.invoke(app, ["--server", service.url, "list", "--json"]).exit_code == 0
    path.chmod(0o640)
    refused = runner.invoke(app, ["--server", service.url, "list"])
    assert (refused.exit_code, "chmod 600" in refused.stderr) == (2, True)
    path.chmod(0o600)
    assert runner.invoke(app, ["logout", service.url]).exit_code == 0
    assert keyring.kept(service.url) is None
    with Client(service.url, token) as client, pytest.raises(NotAllowed):
        client.who()
    assert runner.invoke(app, ["logout", service.url]).exit_code == 2
    wrong = runner.invoke(app, ["login", service.url, "--name", "viewer", "--password-stdin"], input="not it\n")
    assert (wrong.exit_code, "name or password is wrong" in wrong.stderr) == (2, True)
    given = runner.invoke(app, ["login", service.url, "--token-stdin"], input=f"{service.tokens[Role.VIEWER]}\n")
    assert given.exit_code == 0
    assert keyring.kept(service.url) == service.tokens[Role.VIEWER]
