"""A database with something of everything that the API tells of."""

import hashlib
import math
from dataclasses import dataclass

import numpy as np

from rackproof.model.campaign import CampaignState
from rackproof.model.event import EventKind
from rackproof.model.finding import Finding
from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.model.traffic import RECORD_DTYPE, Calibration, Samples
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from rackproof.settings import Settings
from rackproof.store import Store
from testplans.submission import submission

PLAN = """\
kind: switch-qos
name: One switch
devices: [linux-htb]
disciplines: [strict-priority]
load: {per_sender_mbps: [4, 8, 12]}
"""
PDF = b"%PDF-1.7 " + bytes(range(256)) * 8
#: What devices and people write, and formats choke on.
ODD = "a\x01 <b>&\"' \u2028 µ"


@dataclass(frozen=True, kw_only=True, slots=True)
class Seeds:
    """Numbers of what is there. done: ended, with results, samples of its first trial, findings and a report; waiting: in the queue."""

    done: int
    waiting: int
    report: int
    job: int


def seeded(store: Store, settings: Settings) -> Seeds:
    store.testbeds.announce("bench", "bench", ["host:test"], limits={"links": 4}, facts={"kernel": "6.1"})
    done = a_campaign(store)
    waiting = store.queue.submit(**submission(PLAN.encode()).columns(), owner="ada", priority=3)
    return Seeds(done=done, waiting=waiting, report=a_report(store, settings, done), job=store.jobs.want("report", campaign=done))


def a_campaign(store: Store, name: str = "One switch") -> int:
    """A campaign of three trials that has ended: PASS, INVALID, PASS with infinite delay."""
    columns = submission(PLAN.encode()).columns()
    number = store.create_campaign(**{**columns, "name": name})
    store.add_event(number, EventKind.CAMPAIGN_STARTED, {"text": "begins"})
    store.set_provenance(number, {"Host": {"kernel": "6.1", "strange": ODD}})
    store.set_calibration(
        number,
        Calibration(delay_floor_us=1.5, timestamp_error_us_p50=0.5, timestamp_error_us_p99=math.inf, honest_fps=2e5, frames=9),
    )
    store.add_configuration(number, "linux-htb, before", f"qdisc {ODD}")
    file = store.write_samples(number, 1, some_samples(1000))
    store.save_result(number, 1, a_result(7), file)
    store.save_result(number, 2, TrialResult(verdict=Verdict.INVALID, reason=f"too late {ODD}"))
    store.save_result(number, 3, a_result(5, math.inf))
    for index in (1, 2, 3):
        store.add_event(number, EventKind.TRIAL_ENDED, {"text": ODD, "trial": index, "seconds": math.inf if index == 3 else 0.5})
    store.finish(number, CampaignState.DONE, Verdict.FAIL, "it leaks", [a_finding(), a_finding(verdict=Verdict.PASS, value=0.5)])
    store.add_event(number, EventKind.CAMPAIGN_ENDED, {"text": "it leaks", "verdict": "FAIL"})
    return number


def a_report(store: Store, settings: Settings, campaign: int, pdf: bytes = PDF) -> int:
    """A finished report whose files are there."""
    settings.reports_dir.mkdir(parents=True, exist_ok=True)
    files = {}
    for form, content in (("pdf", pdf), ("html", b"<!doctype html><title>report</title>"), ("json", b'{"title": "report"}')):
        sha256 = hashlib.sha256(content).hexdigest()
        name = f"report-{campaign}-{sha256[:16]}.{form}"
        (settings.reports_dir / name).write_bytes(content)
        files[form] = (name, sha256)
    return store.reports.add(campaign, pdf=files["pdf"], html=files["html"], json=files["json"])


def a_result(measurements: int, value: float = 1.25) -> TrialResult:
    interval = Interval(low=1.0, high=math.inf, confidence=0.95, method="=batch means, 20 batches")
    return TrialResult(
        verdict=Verdict.PASS,
        measurements=tuple(
            Measurement(
                name=("throughput", "delay.p99")[number % 2],
                unit="us",
                value=value + number,
                n=10 + number,
                interval=interval if number % 2 else None,
                subject={"queue": str(number), "flow": "µ"},
            )
            for number in range(measurements)
        ),
        curves=(Curve(name="delta_q", x_name="delay", x_unit="us", y_name="p", y_unit="1", x=(0.5, math.inf), y=(0.1, 0.9), n=3),),
        health={"lateness_p99_us": 1.25, "worst": math.inf},
        counters={"queue.3.dropped": 2**63 + 11},
    )


def a_finding(verdict: Verdict = Verdict.FAIL, value: float = math.inf) -> Finding:
    return Finding(
        criterion="sp.leak",
        title="Leak to lower priorities",
        subject={"device": f"linux-htb {ODD}"},
        verdict=verdict,
        value=value,
        unit="1",
        n=20,
        interval=Interval(low=0.1, high=0.2, method="batch means"),
        limit="at most 1 %",
        statement=f"It leaks {ODD}.",
        trials=(1, 3),
        detail={"worst": math.inf},
    )


def some_samples(count: int) -> Samples:
    records = np.zeros(count, RECORD_DTYPE)
    records["tx_ns"] = np.arange(count) * 1000
    records["rx_ns"] = records["tx_ns"] + 5000
    records["sequence"] = np.arange(count)
    return Samples.of(records)
