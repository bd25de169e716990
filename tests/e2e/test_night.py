"""A night as a lab has it: a suite fires by itself, the worker is killed in the middle, and in the morning everything is there, once."""

import json
import os
import re
import socket
import subprocess
import threading
from asyncio import AbstractServer
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from aiosmtpd.controller import Controller
from pypdf import PdfReader

from orchestrator.bench.leftovers import orphans
from rackproof.store.embedded import stop_if_unused
from tests.e2e.plans import ROOT, command, rackproof, write_plan
from tests.e2e.serving import clean_environment, service, until, worker_of

pytestmark = [pytest.mark.netns, pytest.mark.slow]

PASSWORD = "four quiet words at night"
#: The nightly plan of the bench takes 25 minutes; what is proven is the same.
LONG = os.environ.get("RACKPROOF_LONG") == "1"
NIGHT_S = 3 * 3600.0 if LONG else 900.0


class Mailbox:
    """A mail server that keeps what comes."""

    def __init__(self) -> None:
        self.letters: list[str] = []

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802  # aiosmtpd's name
        message = message_from_bytes(envelope.content)
        parts = [part.get_payload(decode=True) for part in message.walk() if part.get_content_type() == "text/plain"]
        self.letters.append("\n".join(part.decode() for part in parts if isinstance(part, bytes)))
        return "250 kept"


class MailServer(Controller):
    """On a socket that listens already: the controller's own way is to be told a port that may be taken by then."""

    def __init__(self, mailbox: Mailbox, listening: socket.socket) -> None:
        super().__init__(mailbox, hostname="127.0.0.1", port=listening.getsockname()[1], ready_timeout=60.0)
        self._listening = listening

    def _create_server(self) -> Awaitable[AbstractServer]:
        return self.loop.create_server(self._factory_invoker, sock=self._listening)


@contextmanager
def mail_server() -> Iterator[tuple[Mailbox, int]]:
    mailbox = Mailbox()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        controller = MailServer(mailbox, listening)
        controller.start()
        try:
            yield mailbox, controller.port
        finally:
            controller.stop()


@contextmanager
def webhook() -> Iterator[tuple[list[dict[str, Any]], str]]:
    said: list[dict[str, Any]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield said, f"http://127.0.0.1:{server.server_address[1]}/hook"
        finally:
            server.shutdown()


def plans(folder: Path) -> tuple[list[str], dict[str, str]]:
    """Plans of the night, and the verdict that each must come to."""
    if LONG:
        nightly = (ROOT / "testplans/switch_qos/bench_nightly.yaml").read_text()
        demo = (ROOT / "testplans/switch_qos/demo.yaml").read_text()
        return [nightly, demo], {}
    good = write_plan(folder, name="a good switch", loads="2, 8, 12", duration_s=0.5).read_text()
    # A switch that leaks from the highest queue is not what was promised.
    bad = write_plan(
        folder, name="a leaking switch", devices="{name: leaking, model: reference, options: {leak: 0.6}}", loads="12", duration_s=0.5
    )
    return [good, bad.read_text()], {"a good switch": "PASS", "a leaking switch": "FAIL"}


def test_a_night_that_is_killed_once_ends_with_its_verdicts_one_digest_and_one_report_each(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with mail_server() as (mailbox, port), webhook() as (said, url):
        environment = clean_environment(data, smtp_url=f"smtp://127.0.0.1:{port}")
        try:
            with service(environment, tmp_path / "log") as (up, address):
                _night(up, address, environment, tmp_path, url)
                until(lambda: mailbox.letters and said, 120)
        finally:
            stop_if_unused(data)
    (letter,) = mailbox.letters
    assert len(said) == 1
    for name, verdict in plans(tmp_path)[1].items():
        assert re.search(rf"{verdict}.*{name}|{name}.*{verdict}", letter), letter
    until(lambda: not orphans(), 60)


def _night(up: "subprocess.Popen[bytes]", address: str, environment: dict[str, str], folder: Path, url: str) -> None:
    added = subprocess.run(
        command("users", "add", "ada", "--role", "admin", "--password-stdin"),
        env=environment,
        input=PASSWORD,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert added.returncode == 0, added.stderr
    token = re.search(r"rp_\S+", rackproof("token", "new", "ada", environment=environment).stdout)
    assert token is not None
    texts, verdicts = plans(folder)
    with httpx.Client(base_url=f"{address}/api/v1", headers={"Authorization": f"Bearer {token[0]}"}, timeout=30) as api:
        until(lambda: any(one["name"] == "bench" and one["workers"] for one in api.get("/testbeds").json()["items"]), 180)
        asked = {"name": "Nightly", "cron": "* * * * *", "plans": texts, "emails": ["lab@example.org"], "webhooks": [url]}
        made = api.post("/schedules", json=asked)
        assert made.status_code == 201, made.text
        run = until(lambda: api.get("/suite-runs").json()["items"], 240)[0]["id"]
        assert api.post(f"/schedules/{made.json()['id']}/pause").status_code == 200
        hit = until(lambda: _killed(worker_of(up), api, run), 300)
        ended = until(lambda: (found := api.get(f"/suite-runs/{run}").json())["state"] == "DONE" and found, NIGHT_S)
        assert len(ended["deliveries"]) == 2
        campaigns = _campaigns(api, run)
        assert len(campaigns) == len(texts)
        for name, verdict in verdicts.items():
            assert [one["verdict"] for one in campaigns if one["name"] == name] == [verdict]
        assert len(api.get(f"/campaigns/{hit}").json()["seams"]) == 1
        for one in campaigns:
            _check_campaign(api, one, folder)
        assert [one["id"] for one in api.get("/suite-runs").json()["items"]] == [run]


def _killed(worker: psutil.Process, api: httpx.Client, run: int) -> int | None:
    """The campaign in the middle of which the worker was killed; None where none is in its middle. It is frozen while it is looked at."""
    if not any(one["state"] == "RUNNING" and one["trials_done"] >= 2 for one in _campaigns(api, run)):
        return None
    worker.suspend()
    for one in _campaigns(api, run):
        if one["state"] == "RUNNING" and one["trials_done"] >= 2:
            worker.kill()
            return int(one["id"])
    worker.resume()
    return None


def _campaigns(api: httpx.Client, run: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get("/campaigns", params={"suite_run": run}).json()["items"]
    return found


def _check_campaign(api: httpx.Client, campaign: dict[str, Any], folder: Path) -> None:
    number = campaign["id"]
    trials = api.get(f"/campaigns/{number}/trials", params={"limit": 200}).json()["items"]
    assert len(trials) == min(campaign["trial_count"], 200)
    assert all(trial["verdict"] for trial in trials)
    reports = api.get(f"/campaigns/{number}/reports").json()["items"]
    assert len(reports) == 1, reports
    path = folder / f"{number}.pdf"
    path.write_bytes(api.get(f"/campaigns/{number}/report.pdf").content)
    assert campaign["verdict"] in PdfReader(path).pages[0].extract_text()
