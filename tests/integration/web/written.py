"""Campaigns of switch-qos with numbers as the bench gives them, written into a store without a bench: simulated, analysed, judged."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.compat import StringIO
from sqlalchemy import text

from rackproof.model.campaign import CampaignState
from rackproof.model.event import EventKind
from rackproof.model.traffic import Samples
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict
from rackproof.store import Store
from rackproof.store.leases import Lease
from testplans.submission import Submission, submission
from testplans.switch_qos.analysis import analyse
from testplans.switch_qos.criteria import conclude
from testplans.switch_qos.expansion import expand
from testplans.switch_qos.plan import SwitchQosPlan
from testplans.verdict import campaign_verdict
from tests.unit.switch_qos.simulator import CALIBRATION, Defects, simulate

FAULTY: dict[str, Any] = {"name": "reference-faulty", "model": "reference", "options": {"leak": 0.05, "unfair": 0.5}}
BOTH: list[Any] = ["strict-priority", {"discipline": "wrr-bytes", "weights": [0.1, 0.2, 0.3, 0.4], "quantum_bytes": 1518}]
PROVENANCE: Mapping[str, Mapping[str, str]] = {
    "Rackproof": {"version": "0.1.0", "commit": "8c1f0a4be2d97f1d35c2a0cb7f6f3f2a1b0c9d8e", "python": "3.11.7", "numpy": "2.4.6"},
    "Host": {"name": "bench-1", "system": "Debian GNU/Linux 12 (bookworm)", "clock": "sender and receiver read the same clock"},
    "Testbed": {"name": "bench", "kernel": "6.1.0-28-amd64", "cpus": "2"},
    "Device linux-htb": {"model": "linux-htb", "version": "6.1.0-28-amd64"},
}
_BEFORE = "qdisc noqueue 0: dev out root refcnt 2\nqdisc pfifo 1: dev mgmt root limit 1000p\n"
_TESTED = (
    "qdisc htb 1: dev out root refcnt 2 r2q 10 default 0x10\nclass htb 1:1 root rate 100Mbit ceil 100Mbit burst 1600b\n"
    "class htb 1:10 parent 1:1 prio 3 rate 10Mbit ceil 100Mbit\nqdisc pfifo 1: dev mgmt root limit 1000p\n"
)


def plan_text(name: str, **keys: Any) -> str:
    """A plan of the size of the demo, as a person would write it."""
    plan: dict[str, Any] = {
        "kind": "switch-qos",
        "name": name,
        "testbed": "bench",
        "devices": ["linux-htb"],
        "disciplines": BOTH,
        "queues": {"count": 4, "length_frames": 100},
        "traffic": {"senders": 8, "frame_bytes": 1518, "arrivals": "poisson"},
        "link": {"rate_mbps": 100},
        "load": {"per_sender_mbps": [10, 15, 22, 40, 60]},
        "trial": {"duration_s": 0.6, "warmup_s": 0.2},
        "seed": 2004,
        "criteria": {"waste_share_max": 0.03, "sp_top_share_min": 0.97, "throughput_deviation_max": 0.03, "fairness_spread_max": 0.3},
    }
    out = StringIO()
    YAML().dump({**plan, **keys}, out)
    return f"# {name}\n{out.getvalue()}"


@functools.cache
def measured(plan: str, index: int, defects: Defects, late: bool = False) -> tuple[TrialResult, Samples]:
    """What a trial of a plan (JSON) gives; late: the generator was, and the trial is INVALID."""
    given = SwitchQosPlan.model_validate_json(plan)
    trial = expand(given)[index - 1]
    found = simulate(given, trial, defects)
    if late:
        found = replace(found, capture=replace(found.capture, health={**found.capture.health, "ring_drops": 37}))
    return analyse(given, trial, found, CALIBRATION), found.capture.samples


@dataclass(kw_only=True)
class Run:
    """A campaign in the hands of whoever has its lease: each step is written and told as a worker does it.

    defects: what the device of a trial does wrong.
    """

    store: Store
    campaign: int
    asked: Submission
    defects: Callable[[Trial], Defects]

    def tell(self, kind: EventKind, words: str, **data: float | int | str) -> None:
        self.store.add_event(self.campaign, kind.value, _told(words, **data))

    def begin(self, provenance: Mapping[str, Mapping[str, str]] = PROVENANCE) -> None:
        self.store.set_provenance(self.campaign, provenance)
        seconds = sum(trial.duration_s for trial in self.asked.trials)
        self.tell(EventKind.CAMPAIGN_STARTED, self.asked.plan.name, worker="bench-1", trials=len(self.asked.trials), seconds=seconds)
        self.store.set_calibration(self.campaign, CALIBRATION)
        self.tell(EventKind.CALIBRATED, "delay floor 1.5 us, 200 kpps honest")
        self.store.set_configurations(
            self.campaign,
            {"linux-htb, before strict-priority": _BEFORE, "linux-htb, as tested with strict-priority": _TESTED},
            (EventKind.DEVICE_CONFIGURED, _told("linux-htb: strict-priority")),
        )

    def resume(self, why: str) -> None:
        self.store.mark_resumed(self.campaign)
        self.tell(EventKind.CAMPAIGN_RESUMED, self.asked.plan.name, why=why, worker="bench-1")

    def start(self, index: int) -> None:
        trial = self.asked.trials[index - 1]
        told = _told(trial.label, trial=index, seconds=trial.duration_s)
        self.store.start_trial(self.campaign, index, (EventKind.TRIAL_STARTED, told))

    def trial(self, index: int, *, late: bool = False, result: TrialResult | None = None, samples: bool = False) -> None:
        """Begin and end a trial; late makes it INVALID, result is taken as it is."""
        self.start(index)
        self.end(index, late=late, result=result, samples=samples)

    def end(self, index: int, *, late: bool = False, result: TrialResult | None = None, samples: bool = False) -> None:
        trial = self.asked.trials[index - 1]
        file = None
        if result is None:
            # Whatever it is called, the same plan gives the same numbers.
            plan = self.asked.plan.model_copy(update={"name": "a plan"}).model_dump_json()
            result, captured = measured(plan, index, self.defects(trial), late)
            if late:
                self.tell(EventKind.WARNING, f"trial {index}, attempt 1 of 6 is INVALID: {result.reason}; measuring again")
            file = self.store.write_samples(self.campaign, index, captured) if samples else None
            result = replace(result, health={**result.health, "attempts": 6 if late else 1})
        told = _told(result.reason or trial.label, trial=index, verdict=result.verdict.value, seconds=round(trial.duration_s, 3))
        self.store.save_result(self.campaign, index, result, file, (EventKind.TRIAL_ENDED, told))

    def conclude(self) -> Verdict:
        self.store.set_configurations(self.campaign, {"linux-htb, after strict-priority": _BEFORE})
        record = self.store.campaign(self.campaign)
        findings = conclude(record)
        verdict, reason = campaign_verdict(findings, record.trials, self.asked.kind.expectation(self.asked.plan))
        told = (EventKind.CAMPAIGN_ENDED, _told(reason, verdict=verdict.value))
        self.store.finish(self.campaign, CampaignState.DONE, verdict, reason, findings, told)
        return verdict

    def leave(self, state: CampaignState, verdict: Verdict, reason: str) -> None:
        told = (EventKind.CAMPAIGN_ENDED, _told(reason, verdict=verdict.value))
        self.store.finish(self.campaign, state, verdict, reason, (), told)

    @property
    def indices(self) -> range:
        return range(1, len(self.asked.trials) + 1)

    def lay_out(self, began: datetime) -> None:
        """Give everything of the campaign the times that it would have had."""
        with self.store.transactions.step("times could not be set") as connection:
            for statement in _LAY_OUT:
                connection.execute(text(statement), {"id": self.campaign, "began": began})


def submitted(store: Store, plan: str, **columns: Any) -> Run:
    """A campaign that was put into the queue."""
    asked = submission(plan.encode())
    return Run(store=store, campaign=store.queue.submit(**{**asked.columns(), **columns}), asked=asked, defects=_planted)


def taken(store: Store, run: Run, incarnation: str) -> Lease:
    """Let a worker have the next campaign, which must be this one; from now on the run writes as that worker."""
    lease = store.leases.dispatch(incarnation, ["bench"]).lease
    assert lease is not None
    assert lease.campaign == run.campaign
    run.store = store.under(lease)
    return lease


def held(store: Store, campaign: int, incarnation: str) -> Run:
    """A campaign that a worker has, in the hands of that worker."""
    with store.transactions.step("the campaign could not be read") as connection:
        row = connection.execute(text("SELECT fence, run, testbed, plan_text FROM campaigns WHERE id = :id"), {"id": campaign}).one()
    lease = Lease(campaign=campaign, fence=row.fence, run=row.run, testbed=row.testbed, incarnation=incarnation)
    return Run(store=store.under(lease), campaign=campaign, asked=submission(row.plan_text.encode()), defects=_planted)


def written(store: Store, plan: str, **columns: Any) -> Run:
    """A campaign that nobody's lease guards, so that it can be written down at once; its owner and run of a schedule are set later."""
    asked = submission(plan.encode())
    number = store.create_campaign(**asked.columns())
    with store.transactions.step("the owner could not be set") as connection:
        for name, value in columns.items():
            connection.execute(text(f"UPDATE campaigns SET {name} = :value WHERE id = :id"), {"value": value, "id": number})
    return Run(store=store, campaign=number, asked=asked, defects=_planted)


def _planted(trial: Trial) -> Defects:
    return Defects(leak=0.05, unfair=0.5) if "faulty" in str(trial.point["device"]) else Defects()


def _told(words: str, **data: float | int | str) -> dict[str, float | int | str]:
    return {"text": words, "at": datetime.now(UTC).isoformat(), **data}


#: Two seconds of preparation, then trial after trial; what a campaign was told of lies where it happened.
_LAY_OUT = (
    """UPDATE trials t SET started = s.began,
           ended = CASE WHEN t.ended IS NULL THEN NULL ELSE s.began + make_interval(secs => t.duration_s) END
       FROM (SELECT id, CAST(:began AS timestamptz) + make_interval(secs => 2 + sum(duration_s) OVER (ORDER BY index) - duration_s) AS began
             FROM trials WHERE campaign_id = :id) s
       WHERE t.id = s.id AND t.started IS NOT NULL""",
    """UPDATE events e SET at = CASE e.kind
           WHEN 'queued' THEN CAST(:began AS timestamptz) - make_interval(secs => 20)
           WHEN 'trial_started' THEN (SELECT started FROM trials WHERE campaign_id = :id AND index = (e.data->>'trial')::int)
           WHEN 'trial_ended' THEN (SELECT ended FROM trials WHERE campaign_id = :id AND index = (e.data->>'trial')::int)
           WHEN 'campaign_started' THEN CAST(:began AS timestamptz)
           WHEN 'calibrated' THEN CAST(:began AS timestamptz) + make_interval(secs => 1.5)
           WHEN 'device_configured' THEN CAST(:began AS timestamptz) + make_interval(secs => 1.9)
           ELSE (SELECT coalesce(max(ended), CAST(:began AS timestamptz)) + make_interval(secs => 1) FROM trials
                 WHERE campaign_id = :id) END
       WHERE e.campaign_id = :id""",
    """UPDATE events e SET at = (SELECT max(at) FROM events b WHERE b.campaign_id = :id AND b.seq < e.seq AND b.kind LIKE 'trial%')
       WHERE e.campaign_id = :id AND e.kind IN ('warning', 'adopted', 'campaign_resumed')""",
    """UPDATE campaigns SET created = CAST(:began AS timestamptz) - make_interval(secs => 20), started = :began,
           queued = CASE WHEN queued IS NULL THEN NULL ELSE CAST(:began AS timestamptz) - make_interval(secs => 20) END,
           ended = CASE WHEN ended IS NULL THEN NULL
                   ELSE (SELECT coalesce(max(ended), :began) + make_interval(secs => 1) FROM trials WHERE campaign_id = :id) END
       WHERE id = :id""",
)
