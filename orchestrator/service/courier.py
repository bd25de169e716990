"""How does a digest reach people who are hard to reach? In a thread of its own, with a bound on every wait, and again if it fails."""

import logging
import random
import smtplib
import socket
import ssl
import threading
from collections.abc import Callable
from email.message import EmailMessage
from email.utils import parseaddr
from urllib.parse import unquote, urlsplit

import httpx

from orchestrator.service.letters import chat, mail
from rackproof.errors import NotFound, StoreError
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.deliveries import EMAIL, WEBHOOK, Delivery

log = logging.getLogger(__name__)
# It would write the whole address of a webhook, which is a secret.
logging.getLogger("httpx").setLevel(logging.WARNING)

ATTEMPTS = 8
#: Before the second attempt; each further one waits twice as long: two hours in all [s].
BACKOFF_S = 60.0
#: No attempt takes longer: connecting, and each answer of a mail server, are bound to a part of it [s].
CLAIM_S = 180.0
_ANSWER_S = 15.0
_REASON_CHARACTERS = 200
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


class Undelivered(Exception):
    """An attempt failed; the message says why without naming what is secret."""


class Courier:
    """Sends what is due. One thread at a time; the deliveries themselves are shared with other workers."""

    def __init__(self, settings: Settings, store: Store, *, attempts: int = ATTEMPTS, backoff_s: float = BACKOFF_S) -> None:
        self._settings = settings
        self._store = store
        self._attempts = attempts
        self._backoff_s = backoff_s
        self._thread: threading.Thread | None = None
        self._ways: dict[str, Callable[[Delivery], None]] = {EMAIL: self._mail, WEBHOOK: self._post}

    def wake(self) -> float:
        """Begin to send if something is due, and do not wait for it; the seconds until something may be due. Raises StoreError."""
        wait_s = self._store.deliveries.wait_s()
        if wait_s is None:
            return float("inf")
        if wait_s == 0.0 and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(target=self._run, name="courier", daemon=True)
            self._thread.start()
        return max(wait_s, 1.0)

    def join(self, timeout_s: float) -> None:
        """Wait until nothing is being sent."""
        if (thread := self._thread) is not None:
            thread.join(timeout_s)

    def deliver(self) -> int:
        """Send everything that is due now; how many attempts that took. Raises StoreError."""
        count = 0
        while (delivery := self._store.deliveries.claim(CLAIM_S)) is not None:
            count += 1
            self._attempt(delivery)
        return count

    def _run(self) -> None:
        try:
            self.deliver()
        except StoreError as error:
            log.warning("digests could not be sent: %s", error)

    def _attempt(self, delivery: Delivery) -> None:
        about = {"delivery": delivery.id, "suite_run": delivery.suite_run, "channel": delivery.channel, "attempt": delivery.attempts}
        try:
            self._ways[delivery.channel](delivery)
        except Undelivered as error:
            last = delivery.attempts >= self._attempts
            wait_s = self._backoff_s * 2.0 ** (delivery.attempts - 1) * random.uniform(0.9, 1.1)  # noqa: S311  # nothing secret
            self._store.deliveries.failed(delivery.id, str(error), None if last else wait_s)
            log.warning("a digest could not be delivered: %s", error, extra=about)
        else:
            self._store.deliveries.sent(delivery.id)
            log.info("a digest was delivered", extra=about)

    def _mail(self, delivery: Delivery) -> None:
        if self._settings.smtp_url is None:
            raise Undelivered("no mail server is set: RACKPROOF_SMTP_URL")
        sender = self._settings.mail_from
        domain = parseaddr(sender)[1].rpartition("@")[2] or "localhost"
        message_id = f"<rackproof-{delivery.suite_run}-{delivery.id}@{domain}>"
        try:
            letter = mail(self._digest(delivery), sender=sender, recipient=delivery.target, message_id=message_id)
            send_mail(self._settings.smtp_url.get_secret_value(), letter)
        except smtplib.SMTPResponseException as error:
            said = error.smtp_error.decode(errors="replace") if isinstance(error.smtp_error, bytes) else str(error.smtp_error)
            raise Undelivered(f"the mail server answered {error.smtp_code} {_short(said)}") from error
        except smtplib.SMTPRecipientsRefused as error:
            answers = [f"{code} {said.decode(errors='replace')}" for code, said in error.recipients.values()]
            raise Undelivered(f"the mail server refused the recipient: {_short('; '.join(answers))}") from error
        except (OSError, smtplib.SMTPException, ValueError) as error:
            raise Undelivered(f"the mail server could not be used: {type(error).__name__}: {_short(str(error))}") from error

    def _post(self, delivery: Delivery) -> None:
        digest = self._digest(delivery)
        try:
            # What the server says in its answer's body is of no use and could be endless: it is not read.
            with (
                httpx.Client(timeout=_ANSWER_S, follow_redirects=False) as client,
                client.stream("POST", delivery.target, json=chat(digest)) as answer,
            ):
                status, phrase, arrived = answer.status_code, answer.reason_phrase, answer.is_success
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            # Its message may hold the address.
            raise Undelivered(f"the webhook could not be reached: {type(error).__name__}") from None
        if not arrived:
            raise Undelivered(f"the webhook answered {status} {_short(phrase)}")

    def _digest(self, delivery: Delivery) -> dict[str, object]:
        try:
            digest = self._store.schedules.run(delivery.suite_run).digest
        except NotFound:
            digest = None
        if digest is None:
            raise Undelivered(f"run {delivery.suite_run} has no digest")
        return dict(digest)


def send_mail(url: str, letter: EmailMessage) -> None:
    """Send a letter by smtp://user:password@host:port, with STARTTLS where the server offers it, or by smtps://.

    A password is sent over TLS to a server that proved its name, or within this machine, and not otherwise. Raises OSError,
    smtplib.SMTPException, and ValueError for another URL.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"smtp", "smtps"} or not parts.hostname:
        raise ValueError("RACKPROOF_SMTP_URL: expected smtp://user:password@host:port or smtps://...")
    context = ssl.create_default_context()
    if not parts.username:
        # Nothing but the letter would be given away, and without TLS it would be given away too: this is what mail servers do.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    name = socket.gethostname()
    if parts.scheme == "smtps":
        server: smtplib.SMTP = smtplib.SMTP_SSL(parts.hostname, parts.port or 465, name, timeout=_ANSWER_S, context=context)
    else:
        server = smtplib.SMTP(parts.hostname, parts.port or 25, name, timeout=_ANSWER_S)
    with server:
        server.ehlo()
        encrypted = parts.scheme == "smtps"
        if not encrypted and server.has_extn("starttls"):
            server.starttls(context=context)
            server.ehlo()
            encrypted = True
        if parts.username:
            if not encrypted and parts.hostname not in _THIS_MACHINE:
                raise ValueError("it offers no TLS and would be sent a password in the clear: use smtps://, or leave the password out")
            server.login(unquote(parts.username), unquote(parts.password or ""))
        server.send_message(letter)


def _short(text: str) -> str:
    return " ".join(text.split())[:_REASON_CHARACTERS]
