"""What can a program ask of a Rackproof service?"""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from rackproof.client.failures import ServerError
from rackproof.client.following import follow
from rackproof.client.inventories import Inventories
from rackproof.client.reading import items, read
from rackproof.client.transport import Transport
from rackproof.client.values import (
    Campaign,
    CampaignSummary,
    Event,
    Job,
    Kind,
    KindDetail,
    NewToken,
    Place,
    Rehearsal,
    RehearsalJob,
    Report,
    Schedule,
    Testbed,
    Token,
    Trial,
    Who,
)
from rackproof.errors import LabError
from rackproof.model.account import Scope
from rackproof.model.campaign import CampaignState
from rackproof.model.service import JobState

Answer = TypeVar("Answer")
SomeJob = TypeVar("SomeJob", bound=Job)

#: How long a worker may take over a report or a rehearsal [s].
JOB_S = 600.0
_YAML = {"Content-Type": "application/yaml"}


class Client:
    """A Rackproof service; a context manager. Threads may share one.

    Every method raises NotFound, Conflict and PlanError as the service says; NotAllowed where the token does not reach; Unreachable where
    the service does not answer; ServerError otherwise. A plan is YAML or JSON, as text or bytes.
    """

    def __init__(self, server: str, token: str | None = None, *, timeout_s: float = 60.0) -> None:
        self._transport = Transport(server, token, timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._transport.http.close()

    @property
    def server(self) -> str:
        return self._transport.server

    @cached_property
    def inventories(self) -> Inventories:
        """What testbeds are made of."""
        return Inventories(self._transport)

    # --- campaigns ---

    def submit(
        self, plan: str | bytes, *, priority: int = 0, key: str | None = None, parent: int | None = None, source: str = "plan"
    ) -> int:
        """Put a plan into the queue; the campaign's number. key: the same for the same submission, however often it is sent.

        parent: the campaign from whose plan this one was written. source: what the plan is called in a PlanError.
        """
        headers = {**_YAML, "Idempotency-Key": key or uuid.uuid4().hex}
        params = _given({"priority": priority, "parent": parent})
        body = self._json("POST", "/campaigns", content=plan, params=params, headers=headers, source=source)
        return _number(body)

    def clone(self, campaign: int, changes: Mapping[str, Any] | None = None, *, priority: int = 0, key: str | None = None) -> int:
        """Submit a campaign's plan again with changes (a JSON merge patch); the new campaign's number."""
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        asked = {"changes": dict(changes or {}), "priority": priority}
        return _number(self._json("POST", f"/campaigns/{campaign}/clone", json=asked, headers=headers))

    def campaigns(
        self,
        *,
        state: CampaignState | None = None,
        kind: str | None = None,
        testbed: str | None = None,
        owner: str | None = None,
        page: int = 100,
    ) -> Iterator[CampaignSummary]:
        """Campaigns, the newest first. Pages are fetched as they are needed."""
        return self._pages("/campaigns", CampaignSummary, page, {"state": state, "kind": kind, "testbed": testbed, "owner": owner})

    def campaign(self, campaign: int) -> Campaign:
        """A campaign with all but its trials."""
        return read(Campaign, self._json("GET", f"/campaigns/{campaign}"))

    def trials(self, campaign: int, *, page: int = 200) -> Iterator[Trial]:
        """The trials of a campaign in the order in which they run."""
        return self._pages(f"/campaigns/{campaign}/trials", Trial, page, {})

    def events(self, campaign: int, *, after: int = 0, patience_s: float = 300.0) -> Iterator[Event]:
        """Events with a number above `after`, each once, until the campaign has ended; goes on by itself when the connection breaks.

        patience_s: how long the service may be away.
        """
        return follow(self._transport, campaign, after, patience_s)

    def last_event(self, campaign: int) -> int:
        """The number of the newest event so far; 0 where there is none."""
        newest, before = 0, -1
        while newest != before:
            before = newest
            newest = int(self._json("GET", f"/campaigns/{campaign}/events", params={"after": before, "limit": 200})["next"])
        return newest

    def cancel(self, campaign: int, why: str = "") -> None:
        """End a campaign wherever it is; what was measured stays."""
        self._json("POST", f"/campaigns/{campaign}/cancel", json={"why": why})

    def retry(self, campaign: int) -> int:
        """Measure again what gave no valid result; how many trials."""
        return int(self._json("POST", f"/campaigns/{campaign}/retry")["trials"])

    def resume(self, campaign: int) -> None:
        """Go on with the trials that have no result."""
        self._json("POST", f"/campaigns/{campaign}/resume")

    # --- reports ---

    def reports(self, campaign: int) -> list[Report]:
        """Finished reports, the newest first."""
        return items(Report, self._json("GET", f"/campaigns/{campaign}/reports"))

    def make_report(self, campaign: int, *, timeout_s: float = JOB_S) -> Report:
        """Have a worker write the report of the campaign as it is now, and wait for it. Raises LabError where it fails or takes longer."""
        job = read(Job, self._json("POST", f"/campaigns/{campaign}/reports"))
        self._ended(job, lambda: read(Job, self._json("GET", f"/jobs/{job.id}")), f"the report of campaign {campaign}", timeout_s)
        return self.reports(campaign)[0]

    def download_report(self, report: Report, pdf: Path) -> tuple[Path, Path]:
        """Write a report's PDF, and its HTML beside it; where both are."""
        html = pdf.with_suffix(".html")
        self._transport.download(report.pdf, pdf, report.pdf_sha256)
        self._transport.download(report.html, html, report.html_sha256)
        return pdf, html

    # --- plans and the lab ---

    def rehearse(self, plan: str | bytes, *, timeout_s: float = JOB_S, source: str = "plan") -> Rehearsal:
        """What a plan would do on its testbed. Raises LabError where no worker answers in time."""
        job = read(RehearsalJob, self._json("POST", "/rehearsals", content=plan, headers=_YAML, source=source))
        ended = self._ended(job, lambda: read(RehearsalJob, self._json("GET", f"/rehearsals/{job.id}")), "the rehearsal", timeout_s)
        if ended.result is None:
            raise ServerError(f"rehearsal {job.id}: expected its result, found none")
        return ended.result

    def kinds(self) -> list[Kind]:
        """All kinds of plan."""
        return items(Kind, self._json("GET", "/kinds"))

    def kind(self, name: str) -> KindDetail:
        """One kind with the JSON Schema of its plans."""
        return read(KindDetail, self._json("GET", f"/kinds/{name}"))

    def testbeds(self) -> list[Testbed]:
        """All testbeds."""
        return items(Testbed, self._json("GET", "/testbeds"))

    def queue(self, testbed: str | None = None) -> list[Place]:
        """What has a testbed or waits for one, in the order in which it is expected to start."""
        return items(Place, self._json("GET", "/queue", params=_given({"testbed": testbed})))

    # --- schedules ---

    def schedules(self) -> list[Schedule]:
        """All schedules."""
        return items(Schedule, self._json("GET", "/schedules"))

    def create_schedule(self, *, name: str, cron: str, plans: Iterable[str], zone: str = "UTC", **options: Any) -> Schedule:
        """Make a schedule. options: what else the service knows (overlap, missed, emails, webhooks, priority, paused)."""
        asked = {"name": name, "cron": cron, "zone": zone, "plans": list(plans), **options}
        return read(Schedule, self._json("POST", "/schedules", json=asked))

    def pause_schedule(self, schedule: int, *, paused: bool = True) -> None:
        """Nothing starts while it is paused."""
        self._json("POST", f"/schedules/{schedule}/{'pause' if paused else 'resume'}")

    def run_schedule(self, schedule: int) -> int:
        """Run it now; the number of the suite's run."""
        return _number(self._json("POST", f"/schedules/{schedule}/run"))

    def delete_schedule(self, schedule: int) -> None:
        """Remove it; what it ran stays."""
        self._transport.request("DELETE", f"/schedules/{schedule}")

    # --- who asks ---

    def who(self) -> Who:
        """Whose token this is, and what it may do."""
        return read(Who, self._json("GET", "/session"))

    def tokens(self) -> list[Token]:
        """One's own tokens, newest first."""
        return items(Token, self._json("GET", "/tokens"))

    def revoke_token(self, token: int) -> None:
        """Revoke a token; with a token, only this one itself."""
        self._transport.request("DELETE", f"/tokens/{token}")

    def revoke_this_token(self) -> None:
        """Revoke the token with which this client asks."""
        token = self.who().token
        if token is not None:
            self.revoke_token(token)

    def new_token(self, *, user: str, password: str, name: str, scopes: Iterable[Scope] | None, expires: datetime) -> NewToken:
        """Sign in with a password for as long as it takes to make a token. For a client without one; scopes None: all that the user may.

        Raises SettingsError where the password would cross a network unencrypted.
        """
        self._transport.check_private()
        who = read(Who, self._json("POST", "/session", json={"name": user, "password": password}))
        headers = {"X-CSRF-Token": who.csrf or ""}
        try:
            asked = {"name": name, "scopes": sorted(who.scopes if scopes is None else scopes), "expires": expires.isoformat()}
            return read(NewToken, self._json("POST", "/tokens", json=asked, headers=headers))
        finally:
            self._transport.request("DELETE", "/session", headers=headers)

    # --- within ---

    def _json(self, method: str, path: str, **options: Any) -> Any:
        return self._transport.json(method, path, **options)

    def _pages(self, path: str, value: type[Answer], page: int, conditions: Mapping[str, Any]) -> Iterator[Answer]:
        cursor: str | None = None
        while True:
            body = self._json("GET", path, params=_given({**conditions, "limit": page, "cursor": cursor}))
            yield from items(value, body)
            cursor = body.get("next")
            if cursor is None:
                return

    @staticmethod
    def _ended(job: SomeJob, ask: Callable[[], SomeJob], what: str, timeout_s: float) -> SomeJob:
        deadline = time.monotonic() + timeout_s
        pause_s = 0.1
        while job.state in (JobState.WANTED, JobState.TAKEN):
            if time.monotonic() > deadline:
                raise LabError(f"{what} was not done within {timeout_s:g} s: is a worker alive that serves the testbed?")
            time.sleep(pause_s)
            pause_s = min(1.0, pause_s * 1.5)
            job = ask()
        if job.state is JobState.FAILED:
            raise LabError(f"{what} failed: {job.error}")
        return job


def _given(params: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _number(body: Any) -> int:
    return int(body["id"])
