"""Is there one digest for every run, with what changed, and does it reach people whose servers are away for a while?"""

import asyncio
import contextlib
import json
import logging
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from sqlalchemy import text

from orchestrator.service.courier import Courier, send_mail
from orchestrator.service.digests import Digests
from orchestrator.service.letters import mail
from rackproof.errors import Conflict
from rackproof.model.campaign import CampaignState
from rackproof.model.measurement import Interval
from rackproof.model.service import DeliveryState, SuiteRunState
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.deliveries import EMAIL, WEBHOOK
from tests.integration.nights.suites import ABOUT, Clock, a_finding, a_plan, a_schedule, a_testbed, end, nights
from tests.unit.nights.test_letters import a_digest

SECRET = "T0KEN-THAT-NOBODY-MAY-SEE"


class Hook:
    """A webhook that answers with the given statuses, the last of them for ever."""

    def __init__(self, *statuses: int) -> None:
        self.received: list[dict[str, Any]] = []
        answers = list(statuses)
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # http.server's name
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = answers.pop(0) if len(answers) > 1 else answers[0]
                received.append({"path": self.path, "status": status, "body": body})
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:9/")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False  # those are waited for when it closes
        self.url = f"http://127.0.0.1:{self._server.server_port}/services/{SECRET}"

    def __enter__(self) -> "Hook":
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Mailbox:
    """What an SMTP server received; refuses the first so many letters."""

    def __init__(self, refuse: int = 0) -> None:
        self.letters: list[Message] = []
        self.encrypted: list[bool] = []
        self._refuse = refuse

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802  # aiosmtpd's name
        from email import message_from_bytes
        from email.policy import default

        if self._refuse:
            self._refuse -= 1
            return "451 4.7.1 greylisted, come back later"
        assert isinstance(envelope.content, bytes)
        assert server.transport is not None
        self.encrypted.append(server.transport.get_extra_info("ssl_object") is not None)
        self.letters.append(message_from_bytes(envelope.content, policy=default))
        return "250 OK"


@contextlib.contextmanager
def smtp_server(mailbox: Mailbox, *, ssl_context: ssl.SSLContext | None = None, **options: Any) -> Iterator[str]:
    """The address of a server in a thread, which ends when all of its connections are closed."""
    began: Future[Callable[[], object]] = Future()
    accepted: list[socket.socket] = []

    async def serve() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def protocol() -> SMTP:
            return SMTP(mailbox, hostname="localhost", loop=loop, **options)

        began.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                accepted.append((await loop.sock_accept(listening))[0])
                await loop.connect_accepted_socket(protocol, accepted[-1], ssl=ssl_context)
        while any(connection.fileno() >= 0 for connection in accepted):
            await asyncio.sleep(0.005)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        thread.start()
        end = began.result(timeout=30)
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}"
        finally:
            end()
            thread.join(timeout=30)
            assert not thread.is_alive(), "a connection stays open"


@pytest.fixture(autouse=True)
def _no_secret_in_any_log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.INFO)
    yield
    assert SECRET not in caplog.text


@pytest.fixture
def fire(settings: Settings, store: Store) -> Callable[..., list[int]]:
    """Makes a schedule fire once more; the campaigns."""
    a_testbed(store)
    clock = Clock()
    ticks = nights(settings, store, clock)

    def fire_again(**schedule: Any) -> list[int]:
        if not store.schedules.list():
            a_schedule(store, clock, **schedule)
        clock.forward(days=1)
        ticks.run()
        return list(store.schedules.runs(limit=1)[0].campaigns)

    return fire_again


def with_public_url(settings: Settings, **changes: Any) -> Settings:
    return settings.model_copy(update={"public_url": "https://rackproof.example.org/", **changes})


def a_report(store: Store, campaign: int) -> None:
    sha = f"{campaign:064x}"
    files = {form: (f"report-{campaign}-{sha[:16]}.{form}", sha) for form in ("pdf", "html", "json")}
    store.reports.add(campaign, **files)


def test_a_run_whose_campaigns_ended_has_one_digest_and_each_recipient_one_delivery(
    settings: Settings, store: Store, fire: Callable[..., list[int]]
) -> None:
    campaigns = fire(plans=[a_plan("one"), a_plan("two")], emails=["ada@example.org", "ada@example.org"], webhooks=["http://127.0.0.1:9/x"])
    duties = [Digests(with_public_url(settings), store, ABOUT) for _ in range(3)]
    end(store, campaigns[0])
    duties[0].run()
    assert store.schedules.runs()[0].state is SuiteRunState.RUNNING
    end(store, campaigns[1], Verdict.FAIL, "q3 starves")
    assert duties[0].run() == 2.0, "it waits for the reports"
    assert store.schedules.runs()[0].digest is None
    for campaign in campaigns:
        a_report(store, campaign)
    threads = [threading.Thread(target=duty._make_one) for duty in duties]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    run = store.schedules.run(store.schedules.runs()[0].id)
    assert run.state is SuiteRunState.DONE
    assert run.ended is not None
    digest = run.digest
    assert digest is not None
    assert (digest["verdict"], digest["counts"], digest["previous_run"]) == ("FAIL", {"PASS": 1, "FAIL": 1}, None)
    assert [(one["name"], one["verdict"], one["reason"], one["report"]) for one in digest["campaigns"]] == [
        ("one", "PASS", "", "ready"),
        ("two", "FAIL", "q3 starves", "ready"),
    ]
    assert digest["campaigns"][0]["report_link"] == f"https://rackproof.example.org/api/v1/campaigns/{campaigns[0]}/report.pdf"
    assert [(one.channel, one.target) for one in store.deliveries.of(run.id)] == [
        (EMAIL, "ada@example.org"),
        (WEBHOOK, "http://127.0.0.1:9/x"),
    ]


def test_what_changed_since_the_night_before_stands_in_the_digest(settings: Settings, store: Store, fire: Callable[..., list[int]]) -> None:
    duty = Digests(settings, store, ABOUT, patience_s=0)
    wider = Interval(low=29.0, high=31.0, method="batch means, 20 batches")
    (first,) = fire(plans=[a_plan()])
    end(store, first, findings=[a_finding(), a_finding(criterion="loss", title="Loss")])
    duty.run()
    (second,) = fire()
    end(
        store,
        second,
        Verdict.FAIL,
        "it leaks",
        [a_finding(verdict=Verdict.FAIL), a_finding(criterion="loss", title="Loss", value=30.0, interval=wider)],
    )
    duty.run()
    now, before = store.schedules.runs()
    assert now.digest is not None
    assert now.digest["previous_run"] == before.id
    assert [(one["what"], one["title"], one["before"], one["after"]) for one in now.digest["changes"]] == [
        ("verdict", "the verdict", "PASS", "FAIL"),
        ("finding", "Delay of the best queue, reference", "PASS (10.0 ± 1.0 µs)", "FAIL (10.0 ± 1.0 µs)"),
        ("value", "Loss, reference", "10.0 ± 1.0 µs", "30.0 ± 1.0 µs"),
    ]
    assert (now.digest["campaigns"][0]["was"], now.digest["campaigns"][0]["previous"]) == ("PASS", first)
    assert now.digest["link"] is None


def test_plans_that_were_refused_are_errors_of_the_night(settings: Settings, store: Store, fire: Callable[..., list[int]]) -> None:
    fire(plans=[a_plan("lost", testbed="gone")])
    Digests(settings, store, ABOUT).run()
    (run,) = store.schedules.runs()
    assert run.digest is not None
    assert (run.state, run.digest["verdict"], run.digest["counts"]) == (SuiteRunState.DONE, "ERROR", {"ERROR": 1})
    assert run.digest["refused"][0]["name"] == "lost"


def test_a_report_that_failed_or_never_comes_does_not_hold_the_digest_back(
    settings: Settings, store: Store, fire: Callable[..., list[int]]
) -> None:
    failed, never = fire(plans=[a_plan("failed"), a_plan("never")])
    for campaign in (failed, never):
        end(store, campaign, state=CampaignState.FAILED, verdict=Verdict.ERROR)
    with store.transactions.step("a worker") as connection:
        connection.execute(
            text(
                "INSERT INTO workers (name, incarnation, host, pid, pid_started, version, testbeds, expires) VALUES "
                "('worker-1', 'incarnation-1', 'elsewhere', 1, 1, '0', '{}', now() + interval '1 hour')"
            )
        )
    job = store.jobs.want("report", campaign=failed)
    assert store.jobs.take("incarnation-1", ()) is not None
    store.jobs.fail(job, "incarnation-1", "it could not be drawn")
    Digests(settings, store, ABOUT).run()
    assert store.schedules.runs()[0].digest is None
    Digests(settings, store, ABOUT, patience_s=0).run()
    digest = store.schedules.runs()[0].digest
    assert digest is not None
    assert [one["report"] for one in digest["campaigns"]] == ["failed", "late"]


def test_a_deleted_schedules_run_has_a_digest_all_the_same(settings: Settings, store: Store, fire: Callable[..., list[int]]) -> None:
    (campaign,) = fire(emails=["ada@example.org"])
    store.schedules.delete(store.schedules.list()[0].id)
    end(store, campaign)
    Digests(settings, store, ABOUT, patience_s=0).run()
    (run,) = store.schedules.runs()
    assert run.state is SuiteRunState.DONE
    assert store.deliveries.of(run.id) == []


def a_delivery(store: Store, fire: Callable[..., list[int]], channel: str, target: str) -> int:
    (campaign,) = fire(plans=[a_plan()])
    end(store, campaign)
    run = store.schedules.runs(limit=1)[0].id
    from rackproof.store.suites import Suites

    Suites(store.transactions).finish(run, a_digest())
    store.deliveries.add(run, channel, target)
    return store.deliveries.of(run)[0].id


def deliver_until(store: Store, courier: Courier, delivery: int, *states: DeliveryState) -> None:
    deadline = time.monotonic() + 30
    while store.deliveries.get(delivery).state not in states:
        assert time.monotonic() < deadline
        courier.deliver()
        time.sleep(0.01)


def test_a_webhook_that_fails_first_is_tried_again_later_and_every_attempt_is_written_down(
    settings: Settings, store: Store, fire: Callable[..., list[int]]
) -> None:
    with Hook(500, 302, 200) as hook:
        delivery = a_delivery(store, fire, WEBHOOK, hook.url)
        courier = Courier(settings, store, backoff_s=0.05)
        begun = time.monotonic()
        deliver_until(store, courier, delivery, DeliveryState.SENT)
        took_s = time.monotonic() - begun
        courier.deliver()
    found = store.deliveries.get(delivery)
    assert [one["status"] for one in hook.received] == [500, 302, 200]
    assert took_s > 0.9 * (0.05 + 0.1), "it waits twice as long each time"
    assert (found.attempts, found.error, found.next_at) == (3, "", None)
    assert [one["error"] for one in found.log] == [
        "the webhook answered 500 Internal Server Error",
        "the webhook answered 302 Found",
    ]
    assert found.sent is not None
    assert hook.received[-1]["body"]["blocks"][0]["text"]["text"] == "nightly: FAIL"


def test_attempts_end_and_somebody_can_begin_them_again(settings: Settings, store: Store, fire: Callable[..., list[int]]) -> None:
    with Hook(503, 503, 503, 200) as hook:
        delivery = a_delivery(store, fire, WEBHOOK, hook.url)
        courier = Courier(settings, store, attempts=3, backoff_s=0.01)
        with pytest.raises(Conflict, match="expected FAILED, found PENDING"):
            store.deliveries.again(delivery)
        deliver_until(store, courier, delivery, DeliveryState.FAILED)
        assert store.deliveries.wait_s() is None
        assert store.deliveries.get(delivery).attempts == 3
        store.deliveries.again(delivery)
        deliver_until(store, courier, delivery, DeliveryState.SENT)
    found = store.deliveries.get(delivery)
    assert (found.attempts, len(found.log), len(hook.received)) == (1, 3, 4)


def test_a_webhook_that_is_not_there_is_told_without_its_address(settings: Settings, store: Store, fire: Callable[..., list[int]]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there, and nobody else can
        delivery = a_delivery(store, fire, WEBHOOK, f"http://127.0.0.1:{taken.getsockname()[1]}/services/{SECRET}")
        Courier(settings, store).deliver()
    found = store.deliveries.get(delivery)
    assert found.error == "the webhook could not be reached: ConnectError"
    assert SECRET not in repr(found)
    assert found.next_at is not None


def test_a_claim_of_a_process_that_died_ends(store: Store, fire: Callable[..., list[int]]) -> None:
    delivery = a_delivery(store, fire, WEBHOOK, "http://127.0.0.1:9/")
    first = store.deliveries.claim(claim_s=3600)
    assert first is not None
    assert first.id == delivery
    assert store.deliveries.claim(claim_s=3600) is None
    with store.transactions.step("an hour goes by") as connection:
        connection.execute(text("UPDATE deliveries SET next_at = next_at - interval '1 hour'"))
    again = store.deliveries.claim(claim_s=3600)
    assert again is not None
    assert (again.id, again.attempts) == (delivery, 2)


def test_a_mail_reaches_a_server_that_greylists(settings: Settings, store: Store, fire: Callable[..., list[int]]) -> None:
    mailbox = Mailbox(refuse=1)
    delivery = a_delivery(store, fire, EMAIL, "ada@example.org")
    with smtp_server(mailbox) as server:
        courier = Courier(with_smtp(settings, f"smtp://{server}"), store, backoff_s=0.01)
        deliver_until(store, courier, delivery, DeliveryState.SENT)
    (letter,) = mailbox.letters
    assert letter["To"] == "ada@example.org"
    assert letter["From"] == "Rackproof <lab@example.org>"
    run = store.schedules.runs()[0].id
    assert letter["Message-ID"] == f"<rackproof-{run}-{delivery}@example.org>"
    assert letter.get_content_type() == "multipart/alternative"
    found = store.deliveries.get(delivery)
    assert found.attempts == 2
    assert [one["error"] for one in found.log] == ["the mail server answered 451 4.7.1 greylisted, come back later"]


def test_without_a_mail_server_the_delivery_says_so(settings: Settings, store: Store, fire: Callable[..., list[int]]) -> None:
    delivery = a_delivery(store, fire, EMAIL, "ada@example.org")
    Courier(settings, store).deliver()
    assert store.deliveries.get(delivery).error == "no mail server is set: RACKPROOF_SMTP_URL"


def test_the_duty_sends_in_a_thread_and_never_waits_for_it(settings: Settings, store: Store, fire: Callable[..., list[int]]) -> None:
    with Hook(200) as hook:
        (campaign,) = fire(plans=[a_plan()], webhooks=[hook.url])
        end(store, campaign)
        duty = Digests(settings, store, ABOUT, patience_s=0)
        assert duty.run() <= 1.0
        deadline = time.monotonic() + 30
        run = store.schedules.runs()[0].id
        while store.deliveries.of(run)[0].state is not DeliveryState.SENT:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        duty.courier.join(30)
        assert duty.run() == 30.0
    assert len(hook.received) == 1


def with_smtp(settings: Settings, url: str) -> Settings:
    from pydantic import SecretStr

    return settings.model_copy(update={"smtp_url": SecretStr(url), "mail_from": "Rackproof <lab@example.org>"})


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A server's side of TLS, with a certificate that nobody vouches for."""
    folder = tmp_path_factory.mktemp("tls")
    key, crt = folder / "key.pem", folder / "crt.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    subprocess.run([*command, "-subj", "/CN=localhost", "-keyout", key, "-out", crt], check=True, capture_output=True, timeout=60)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(crt, key)
    return context


def a_letter() -> Any:
    return mail(a_digest(), sender="lab@example.org", recipient="ada@example.org", message_id="<1@example.org>")


def test_tls_is_used_where_the_server_offers_it(certificate: ssl.SSLContext) -> None:
    mailbox = Mailbox()
    with smtp_server(mailbox, tls_context=certificate) as server:
        send_mail(f"smtp://{server}", a_letter())
    with smtp_server(mailbox, ssl_context=certificate) as server:
        send_mail(f"smtps://{server}", a_letter())
    with smtp_server(mailbox) as server:
        send_mail(f"smtp://{server}", a_letter())
    assert mailbox.encrypted == [True, True, False]


def test_a_password_is_not_sent_to_a_server_that_cannot_prove_its_name(certificate: ssl.SSLContext) -> None:
    offered: list[LoginPassword] = []

    def authenticate(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        offered.append(data)
        return AuthResult(success=True)

    mailbox = Mailbox()
    with smtp_server(mailbox, tls_context=certificate, authenticator=authenticate) as server, pytest.raises(ssl.SSLError):
        send_mail(f"smtp://ada:secret@{server}", a_letter())
    with smtp_server(mailbox, authenticator=authenticate, auth_require_tls=False) as server:
        send_mail(f"smtp://ada:se%40cret@{server}", a_letter())
    assert offered == [LoginPassword(b"ada", b"se@cret")]
    assert len(mailbox.letters) == 1


def test_another_kind_of_url_is_refused() -> None:
    with pytest.raises(ValueError, match="expected smtp://"):
        send_mail("http://127.0.0.1", a_letter())
