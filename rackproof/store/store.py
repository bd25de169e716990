"""Where campaigns are kept: every write is one transaction, done when the method returns."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from rackproof.errors import LeaseLost, NotFound, StoreError
from rackproof.model.campaign import CampaignRecord, CampaignState, SamplesFile
from rackproof.model.event import EventKind
from rackproof.model.finding import Finding
from rackproof.model.traffic import Calibration, Samples
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import database, life, means, moves, records, results, samples, schema
from rackproof.store.browse_rows import CampaignFilter
from rackproof.store.desks import Desks
from rackproof.store.embedded import EmbeddedServer
from rackproof.store.leases import Lease, Leases
from rackproof.store.queue import blank_trial, write_down
from rackproof.store.records import CampaignSummary, Event
from rackproof.store.transactions import Transactions

#: What is told together with a write, in its transaction.
Told = tuple[EventKind, Mapping[str, Any]]

_ENDED = frozenset({CampaignState.DONE, CampaignState.FAILED, CampaignState.ABORTED})


class Store(Desks):
    """Campaigns in a database and their samples in a folder. Threads may share one; a forked child must open its own.

    Every method raises StoreError where the database or the disk fails, and NotFound where there is no such campaign or trial. A campaign
    that runs is written to by whoever has its lease (`under`), and by nobody else: LeaseLost.
    """

    def __init__(
        self,
        engine: Engine,
        url: str,
        samples_dir: Path,
        why_down: Callable[[], str] | None = None,
        samples_url: str | None = None,
    ) -> None:
        self.url = url
        self.samples_dir = samples_dir
        #: Where samples are: samples_dir, or an object store's URL.
        self.samples_place: samples.Place = samples_url or samples_dir
        self._why_down = why_down
        self._engine = engine
        self.transactions = Transactions(engine, why_down)
        self._quantities = results.Quantities()
        self._lease: Lease | None = None

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
            yield cls(engine, url, settings.samples_dir, why_down, settings.samples_url)

    @cached_property
    def leases(self) -> Leases:
        """Who has which device or generator."""
        return Leases(self.transactions)

    def under(self, lease: Lease) -> Self:
        """The same store for whoever has a campaign's lease: its writes to the campaign are refused as soon as the lease is lost."""
        leased = copy.copy(self)
        leased._lease = lease
        return leased

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
            return write_down(connection, values, trials)

    def mark_resumed(self, campaign: int) -> None:
        """Write down that the campaign goes on after an interruption; an earlier end is forgotten."""
        with self._step(f"campaign {campaign} could not be resumed") as connection:
            self._lock(connection, campaign, not_done=True)
            resumed = func.array_append(schema.Campaign.resumed, func.clock_timestamp())
            self._update_campaign(connection, campaign, resumed=resumed, ended=None, verdict=None, reason="")
            connection.execute(delete(schema.Finding).where(schema.Finding.campaign_id == campaign))

    def set_provenance(self, campaign: int, provenance: Mapping[str, Mapping[str, str]]) -> None:
        """Write down the provenance, in place of what was there."""
        with self._step(f"the provenance of campaign {campaign} could not be stored") as connection:
            self._lock(connection, campaign)
            self._update_campaign(connection, campaign, provenance=provenance)

    def set_calibration(self, campaign: int, calibration: Calibration) -> None:
        """Write down the calibration, in place of an earlier one."""
        values = {field.name: getattr(calibration, field.name) for field in fields(calibration)}
        with self._step(f"the calibration of campaign {campaign} could not be stored") as connection:
            self._lock(connection, campaign)
            self._update_campaign(connection, campaign, calibration=values)

    def add_configuration(self, campaign: int, name: str, text: str) -> None:
        """Write down a device's configuration under a name ("linux-htb, before"), in place of an earlier one of that name."""
        self.set_configurations(campaign, {name: text})

    def set_configurations(self, campaign: int, texts: Mapping[str, str | None], told: Told | None = None) -> None:
        """Write down configurations by name, in place of earlier ones; None forgets one."""
        table = schema.Configuration
        with self._step(f"the configurations {', '.join(texts)} of campaign {campaign} could not be stored") as connection:
            self._lock(connection, campaign)
            connection.execute(delete(table).where(table.campaign_id == campaign, table.name.in_(texts)))
            rows = [{"campaign_id": campaign, "name": name, "text": text} for name, text in texts.items() if text is not None]
            if rows:
                connection.execute(insert(table), rows)
            self._tell(connection, campaign, told)

    # --- trials ---

    def start_trial(self, campaign: int, index: int, told: Told | None = None) -> None:
        """Write down that a trial begins now."""
        with self._step(f"trial {index} of campaign {campaign} could not be started") as connection:
            self._lock(connection, campaign)
            self._update_open_trial(connection, campaign, index, started=func.clock_timestamp())
            self._tell(connection, campaign, told)

    def write_samples(self, campaign: int, index: int, captured: Samples) -> SamplesFile:
        """Store a trial's samples in their file; save_result() then says where they are."""
        return samples.write(self.samples_place, campaign, index, captured)

    def read_samples(self, file: SamplesFile) -> Samples:
        """The samples of a trial."""
        return samples.read(self.samples_place, file)

    def save_result(
        self, campaign: int, index: int, result: TrialResult, file: SamplesFile | None = None, told: Told | None = None
    ) -> None:
        """Store what came of a trial, all of it or nothing. A trial has one result: a second is refused with StoreError."""
        what = f"the result of trial {index} of campaign {campaign} could not be stored"
        results.check(what, result.measurements, result.curves)
        where = {} if file is None else {"samples_path": file.path, "samples_sha256": file.sha256, "samples_rows": file.rows}
        with self._step(what) as connection:
            self._lock(connection, campaign)
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
            self._update_campaign(connection, campaign, trials_done=schema.Campaign.trials_done + 1)
            self._tell(connection, campaign, told)
        self._quantities.keep(new)

    def verdict(self, campaign: int, index: int) -> Verdict | None:
        """What came of a trial; None where it has no result. Raises NotFound."""
        table = schema.Trial
        with self._step(f"trial {index} of campaign {campaign} could not be read") as connection:
            row = connection.execute(select(table.verdict).where(table.campaign_id == campaign, table.index == index)).one_or_none()
        if row is None:
            raise NotFound(f"campaign {campaign} has no trial {index}")
        return None if row.verdict is None else Verdict(row.verdict)

    def clear_result(self, campaign: int, index: int) -> None:
        """Forget what came of a trial, so that it can run again."""
        table = schema.Trial
        with self._step(f"the result of trial {index} of campaign {campaign} could not be cleared") as connection:
            self._lock(connection, campaign, not_done=True)
            this = (table.campaign_id == campaign, table.index == index)
            found = connection.execute(select(table.id, table.verdict).where(*this)).one_or_none()
            if found is None:
                raise NotFound(f"campaign {campaign} has no trial {index}")
            connection.execute(update(table).where(*this).values(**blank_trial()))
            connection.execute(delete(schema.Measurement).where(schema.Measurement.trial_id == found.id))
            connection.execute(delete(schema.Curve).where(schema.Curve.trial_id == found.id))
            if found.verdict is not None:
                self._update_campaign(connection, campaign, trials_done=schema.Campaign.trials_done - 1)

    # --- a campaign ends ---

    def finish(
        self,
        campaign: int,
        state: CampaignState,
        verdict: Verdict | None,
        reason: str = "",
        findings: Sequence[Finding] = (),
        told: Told | None = None,
    ) -> None:
        """Write down how the campaign ended (DONE, FAILED or ABORTED) and what was found, and give back what it had. DONE stays."""
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
            self._lock(connection, campaign, not_done=True)
            self._update_campaign(connection, campaign, state=state, verdict=verdict, reason=reason, ended=func.clock_timestamp())
            connection.execute(delete(schema.Finding).where(schema.Finding.campaign_id == campaign))
            if rows:
                connection.execute(insert(schema.Finding), rows)
            if state is CampaignState.DONE:
                means.keep(connection, campaign)
            self._tell(connection, campaign, told)
            moves.free(connection, campaign)
            moves.ended(connection, campaign)

    # --- events ---

    def add_event(self, campaign: int, kind: str, data: Mapping[str, Any]) -> int:
        """Write down that something happened; its sequence number."""
        with self._step(f"the event {kind} of campaign {campaign} could not be stored") as connection:
            # The campaign's row is locked first: events get their numbers in the order in which others can see them, so that a reader
            # who asks for what came after a number misses none.
            self._lock(connection, campaign, anybody=True)
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
        while True:
            with self.transactions.reading(f"campaign {campaign} could not be read") as connection:
                record = records.load_campaign(connection, campaign)
            if record.state is not CampaignState.RUNNING or (state := self._seen(campaign)) is CampaignState.RUNNING:
                return record
            if state is CampaignState.INTERRUPTED:
                return replace(record, state=state)
            # It ended between the reads.

    def campaigns(self, limit: int = 50, before: int | None = None) -> list[CampaignSummary]:
        """The newest campaigns, the newest first; `before` an id for the next page."""
        return [records.summary_of(row) for row in self.browse.campaigns(CampaignFilter(), place=before, limit=limit)]

    def kind_of(self, campaign: int) -> str:
        """The kind of a campaign's plan."""
        with self._step(f"campaign {campaign} could not be read") as connection:
            kind: str | None = connection.scalar(select(schema.Campaign.kind).where(schema.Campaign.id == campaign))
        if kind is None:
            raise NotFound(f"there is no campaign {campaign}")
        return kind

    def latest(self) -> int:
        """The id of the newest campaign."""
        with self._step("the campaigns could not be read") as connection:
            newest: int | None = connection.scalar(select(func.max(schema.Campaign.id)))
        if newest is None:
            raise NotFound("there is no campaign yet")
        return newest

    # --- what the methods share ---

    def _step(self, what: str) -> AbstractContextManager[Connection]:
        return self.transactions.step(what)

    def _seen(self, campaign: int) -> CampaignState:
        """The state of a campaign that was just read as RUNNING: INTERRUPTED where its worker is gone."""
        with self._step(f"campaign {campaign} could not be read") as connection:
            return life.state_of(connection, campaign)

    def _lock(self, connection: Connection, campaign: int, *, not_done: bool = False, anybody: bool = False) -> None:
        """Keep others from changing the campaign until the transaction ends, if it is ours to change. Raises NotFound, LeaseLost.

        not_done: what is done is refused. anybody: so is nobody who has no lease.
        """
        table = schema.Campaign
        found = connection.execute(
            select(table.state, table.fence, table.worker).where(table.id == campaign).with_for_update(key_share=True)
        ).one_or_none()
        if found is None:
            raise NotFound(f"there is no campaign {campaign}")
        if not_done and found.state == CampaignState.DONE:
            raise StoreError(f"campaign {campaign} is done and cannot be changed")
        mine = self._lease is not None and self._lease.campaign == campaign
        if self._lease is not None and mine and (found.fence, found.state) != (self._lease.fence, CampaignState.RUNNING):
            raise LeaseLost(f"campaign {campaign} is not this worker's own any more: worker {found.worker} has it, or it has ended")
        if not mine and not anybody and found.state == CampaignState.RUNNING:
            raise LeaseLost(f"campaign {campaign} is being run by worker {found.worker}: nobody else may write to it")

    @staticmethod
    def _tell(connection: Connection, campaign: int, told: Told | None) -> None:
        if told is not None:
            kind, data = told
            connection.execute(insert(schema.Event).values(campaign_id=campaign, kind=kind.value, data=data, at=func.clock_timestamp()))

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
