"""Where campaigns are kept: every write is one transaction, done when the method returns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from rackproof.errors import NotFound, StoreError
from rackproof.model.campaign import CampaignRecord, CampaignState, SamplesFile
from rackproof.model.finding import Finding
from rackproof.model.traffic import Calibration, Samples
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import database, holds, records, results, samples, schema
from rackproof.store.database import translated
from rackproof.store.embedded import EmbeddedServer
from rackproof.store.records import CampaignSummary, Event

_ENDED = frozenset({CampaignState.DONE, CampaignState.FAILED, CampaignState.ABORTED})


class Store:
    """Campaigns in a database and their samples in a folder. Threads may share one; a forked child must open its own.

    Every method raises StoreError where the database or the disk fails, and NotFound where there is no such campaign or trial.
    """

    def __init__(self, engine: Engine, samples_dir: Path, why_down: Callable[[], str] | None = None) -> None:
        self.samples_dir = samples_dir
        self._why_down = why_down
        self._engine = engine
        # A campaign is read by several statements, and all of them see the same moment.
        self._snapshot = engine.execution_options(isolation_level="REPEATABLE READ")
        self._quantities = results.Quantities()

    @classmethod
    @contextmanager
    def open(cls, settings: Settings) -> Iterator[Self]:
        """Reach the database, starting the embedded one where settings name none, and bring its schema up to date."""
        with ExitStack() as stack:
            why_down = None
            if settings.database_url is not None:
                url = settings.database_url.get_secret_value()
            else:
                server = stack.enter_context(EmbeddedServer(settings.data_dir))
                url, why_down = server.url, server.why_down
            engine = database.connect(url)
            stack.callback(engine.dispose)
            database.migrate(engine)
            yield cls(engine, settings.samples_dir, why_down)

    # --- a campaign begins ---

    def create_campaign(
        self,
        *,
        name: str,
        kind: str,
        testbed: str,
        plan: Mapping[str, Any],
        plan_text: str,
        plan_sha256: str,
        trials: Sequence[Trial],
    ) -> int:
        """Write down a campaign and everything that it will do; its id."""
        values = {"name": name, "kind": kind, "testbed": testbed, "plan": plan, "plan_text": plan_text, "plan_sha256": plan_sha256}
        with self._step(f"the campaign {name} could not be created") as connection:
            campaign = connection.scalars(
                insert(schema.Campaign).values(**values, state=CampaignState.PENDING).returning(schema.Campaign.id)
            ).one()
            if trials:
                connection.execute(insert(schema.Trial), [{**_columns(trial), "campaign_id": campaign} for trial in trials])
        return campaign

    @contextmanager
    def hold(self, campaign: int) -> Iterator[holds.Hold]:
        """Run a campaign: it is RUNNING as long as this lasts, and INTERRUPTED where it ends without finish().

        Raises StoreError where another process runs it, or where it is done.
        """
        with holds.hold(self._engine, campaign) as held:
            with self._step(f"campaign {campaign} could not be started") as connection:
                self._not_done(connection, campaign)
                started = func.coalesce(schema.Campaign.started, func.clock_timestamp())
                self._update_campaign(connection, campaign, state=CampaignState.RUNNING, started=started)
            yield held

    def mark_resumed(self, campaign: int) -> None:
        """Write down that the campaign goes on after an interruption; an earlier end is forgotten."""
        with self._step(f"campaign {campaign} could not be resumed") as connection:
            self._not_done(connection, campaign)
            resumed = func.array_append(schema.Campaign.resumed, func.clock_timestamp())
            self._update_campaign(connection, campaign, resumed=resumed, ended=None, verdict=None, reason="")
            connection.execute(delete(schema.Finding).where(schema.Finding.campaign_id == campaign))

    def set_provenance(self, campaign: int, provenance: Mapping[str, Mapping[str, str]]) -> None:
        """Write down the provenance, in place of what was there."""
        with self._step(f"the provenance of campaign {campaign} could not be stored") as connection:
            self._update_campaign(connection, campaign, provenance=provenance)

    def set_calibration(self, campaign: int, calibration: Calibration) -> None:
        """Write down the calibration, in place of an earlier one."""
        with self._step(f"the calibration of campaign {campaign} could not be stored") as connection:
            self._update_campaign(connection, campaign, calibration=_columns(calibration))

    def add_configuration(self, campaign: int, name: str, text: str) -> None:
        """Write down a device's configuration under a name ("linux-htb, before"), in place of an earlier one of that name."""
        table = schema.Configuration
        with self._step(f"the configuration {name} of campaign {campaign} could not be stored") as connection:
            self._lock_campaign(connection, campaign)
            connection.execute(delete(table).where(table.campaign_id == campaign, table.name == name))
            connection.execute(insert(table).values(campaign_id=campaign, name=name, text=text))

    # --- trials ---

    def start_trial(self, campaign: int, index: int) -> None:
        """Write down that a trial begins now."""
        with self._step(f"trial {index} of campaign {campaign} could not be started") as connection:
            self._update_open_trial(connection, campaign, index, started=func.clock_timestamp())

    def write_samples(self, campaign: int, index: int, captured: Samples) -> SamplesFile:
        """Store a trial's samples in their file; save_result() then says where they are."""
        return samples.write(self.samples_dir, campaign, index, captured)

    def read_samples(self, file: SamplesFile) -> Samples:
        """The samples of a trial."""
        return samples.read(self.samples_dir, file)

    def save_result(self, campaign: int, index: int, result: TrialResult, file: SamplesFile | None = None) -> None:
        """Store what came of a trial, all of it or nothing. A trial has one result: a second is refused with StoreError."""
        what = f"the result of trial {index} of campaign {campaign} could not be stored"
        results.check(what, result.measurements, result.curves)
        where = {} if file is None else {"samples_path": file.path, "samples_sha256": file.sha256, "samples_rows": file.rows}
        with self._step(what) as connection:
            trial_id = self._update_open_trial(
                connection,
                campaign,
                index,
                verdict=result.verdict,
                reason=result.reason,
                health=result.health,
                counters=result.counters,
                ended=func.clock_timestamp(),
                **where,
            )
            ids, new = self._quantities.ids(connection, result.measurements)
            results.insert_measurements(connection, trial_id, ids, result.measurements)
            results.insert_curves(connection, trial_id, result.curves)
        self._quantities.keep(new)

    def clear_result(self, campaign: int, index: int) -> None:
        """Forget what came of a trial, so that it can run again."""
        table = schema.Trial
        blank: dict[str, Any] = {"reason": "", "health": {}, "counters": {}}
        blank |= dict.fromkeys(("started", "ended", "verdict", "samples_path", "samples_sha256", "samples_rows"))
        with self._step(f"the result of trial {index} of campaign {campaign} could not be cleared") as connection:
            self._not_done(connection, campaign)
            trial_id = connection.scalar(
                update(table).where(table.campaign_id == campaign, table.index == index).values(**blank).returning(table.id)
            )
            if trial_id is None:
                raise NotFound(f"campaign {campaign} has no trial {index}")
            connection.execute(delete(schema.Measurement).where(schema.Measurement.trial_id == trial_id))
            connection.execute(delete(schema.Curve).where(schema.Curve.trial_id == trial_id))

    # --- a campaign ends ---

    def finish(
        self, campaign: int, state: CampaignState, verdict: Verdict | None, reason: str = "", findings: Sequence[Finding] = ()
    ) -> None:
        """Write down how the campaign ended (DONE, FAILED or ABORTED) and what was found. What is done stays as it is."""
        if state not in _ENDED:
            raise ValueError(f"expected one of {', '.join(sorted(_ENDED))}, found {state}")
        rows = [
            {
                **{
                    name: getattr(finding, name)
                    for name in ("criterion", "title", "subject", "verdict", "unit", "limit", "statement", "detail")
                },
                **results.interval_columns(finding.interval),
                "campaign_id": campaign,
                "position": position,
                "value": float(finding.value),
                "n": int(finding.n),
                "trials": list(finding.trials),
            }
            for position, finding in enumerate(findings)
        ]
        with self._step(f"the end of campaign {campaign} could not be stored") as connection:
            self._not_done(connection, campaign)
            self._update_campaign(connection, campaign, state=state, verdict=verdict, reason=reason, ended=func.clock_timestamp())
            connection.execute(delete(schema.Finding).where(schema.Finding.campaign_id == campaign))
            if rows:
                connection.execute(insert(schema.Finding), rows)

    # --- events ---

    def add_event(self, campaign: int, kind: str, data: Mapping[str, Any]) -> int:
        """Write down that something happened; its sequence number."""
        with self._step(f"the event {kind} of campaign {campaign} could not be stored") as connection:
            # The campaign's row is locked first: events get their numbers in the order in which others can see them, so that a reader
            # who asks for what came after a number misses none.
            self._lock_campaign(connection, campaign)
            return connection.scalars(
                insert(schema.Event)
                .values(campaign_id=campaign, kind=kind, data=data, at=func.clock_timestamp())
                .returning(schema.Event.seq)
            ).one()

    def events(self, campaign: int, after: int = 0, limit: int = 1000) -> list[Event]:
        """Events of a campaign with a sequence number above `after`, in order."""
        table = schema.Event
        wanted = select(table.seq, table.at, table.kind, table.data).where(table.campaign_id == campaign, table.seq > after)
        with self._step(f"the events of campaign {campaign} could not be read") as connection:
            return [
                Event(seq=row.seq, at=row.at, kind=row.kind, data=row.data)
                for row in connection.execute(wanted.order_by(table.seq).limit(limit))
            ]

    # --- reading ---

    def campaign(self, campaign: int) -> CampaignRecord:
        """All that is known of a campaign."""
        with translated(f"campaign {campaign} could not be read", self._why_down):
            while True:
                with self._snapshot.begin() as connection:
                    record = records.load_campaign(connection, campaign)
                if record.state is not CampaignState.RUNNING or campaign in self._held():
                    return record
                # Its lock is free: nobody runs it, unless it ended between the two reads, and then it is read again.
                if self._state(campaign) is CampaignState.RUNNING:
                    return replace(record, state=CampaignState.INTERRUPTED)

    def campaigns(self, limit: int = 50, before: int | None = None) -> list[CampaignSummary]:
        """The newest campaigns, the newest first; `before` an id for the next page."""
        with translated("the campaigns could not be read", self._why_down):
            with self._snapshot.begin() as connection:
                summaries = records.load_summaries(connection, limit, before)
            if not any(summary.state is CampaignState.RUNNING for summary in summaries):
                return summaries
            held = self._held()
            return [
                self._again(summary) if summary.state is CampaignState.RUNNING and summary.id not in held else summary
                for summary in summaries
            ]

    def latest(self) -> int:
        """The id of the newest campaign."""
        with self._step("the campaigns could not be read") as connection:
            newest: int | None = connection.scalar(select(func.max(schema.Campaign.id)))
        if newest is None:
            raise NotFound("there is no campaign yet")
        return newest

    # --- what the methods share ---

    @contextmanager
    def _step(self, what: str) -> Iterator[Connection]:
        with translated(what, self._why_down), self._engine.begin() as connection:
            yield connection

    def _held(self) -> frozenset[int]:
        with self._engine.begin() as connection:
            return holds.held(connection)

    def _state(self, campaign: int) -> CampaignState:
        with self._engine.begin() as connection:
            return CampaignState(connection.scalars(select(schema.Campaign.state).where(schema.Campaign.id == campaign)).one())

    def _again(self, summary: CampaignSummary) -> CampaignSummary:
        if self._state(summary.id) is CampaignState.RUNNING:
            return replace(summary, state=CampaignState.INTERRUPTED)
        with self._snapshot.begin() as connection:
            return records.load_summaries(connection, 1, summary.id + 1)[0]

    @staticmethod
    def _lock_campaign(connection: Connection, campaign: int) -> CampaignState:
        """Keep others from changing the campaign until the transaction ends; its state. Raises NotFound."""
        table = schema.Campaign
        state = connection.scalar(select(table.state).where(table.id == campaign).with_for_update(key_share=True))
        if state is None:
            raise NotFound(f"there is no campaign {campaign}")
        return CampaignState(state)

    def _not_done(self, connection: Connection, campaign: int) -> None:
        if self._lock_campaign(connection, campaign) is CampaignState.DONE:
            raise StoreError(f"campaign {campaign} is done and cannot be changed")

    @staticmethod
    def _update_campaign(connection: Connection, campaign: int, **values: Any) -> None:
        table = schema.Campaign
        if connection.scalar(update(table).where(table.id == campaign).values(**values).returning(table.id)) is None:
            raise NotFound(f"there is no campaign {campaign}")

    @staticmethod
    def _update_open_trial(connection: Connection, campaign: int, index: int, **values: Any) -> int:
        table = schema.Trial
        this = (table.campaign_id == campaign, table.index == index)
        trial_id: int | None = connection.scalar(update(table).where(*this, table.verdict.is_(None)).values(**values).returning(table.id))
        if trial_id is None:
            if connection.scalar(select(table.id).where(*this)) is None:
                raise NotFound(f"campaign {campaign} has no trial {index}")
            raise StoreError(f"trial {index} of campaign {campaign} has a result already: clear it before it runs again")
        return trial_id


def _columns(value: Trial | Calibration) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}
