"""Delay over a chain on the bench, from the plan to the report: a delay that is planted at a hop is found there."""

import os
from pathlib import Path

import pytest
from pypdf import PdfReader

from rackproof.model.campaign import CampaignState
from rackproof.model.verdict import Verdict
from rackproof.model.xcf import FIRST_LINK
from rackproof.store import Store
from tests.e2e.plans import rackproof

pytestmark = [pytest.mark.netns, pytest.mark.skipif(os.geteuid() != 0, reason="XDP needs root")]

PLAN = """
kind: xpfe-delay
name: three hops
chains: [xpfe]
hops: [3]
frame_bytes: [1000]
rates_mbps: [20]
trial: {duration_s: 0.25, warmup_s: 0.1}
planted: [{hop: 2, delay_us: 10}]
# What is asked here is whether delays are right, on a machine that may be busy with other tests.
validity: {stalled_share_max: 1.0, wire_stalled_share_max: 1.0, lateness_p99_us_max: 1000000, wire_lateness_p99_us_max: 1000000}
"""


def test_a_planted_delay_is_found_at_its_hop(environment: dict[str, str], store: Store, tmp_path: Path) -> None:
    plan, pdf = tmp_path / "plan.yaml", tmp_path / "out.pdf"
    plan.write_text(PLAN)
    done = rackproof("run", str(plan), "--pdf", str(pdf), environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    record = store.campaign(1)
    assert (record.state, record.verdict) == (CampaignState.DONE, Verdict.PASS)
    (trial,) = record.trials
    assert trial.result is not None
    assert trial.samples is not None
    found = {(each.name, each.subject.get("hop")): each.value for each in trial.result.measurements}
    # 1042 octets at 1 Gbit/s.
    assert found["hop.serialisation", "1"] == pytest.approx(8.336)
    assert [found["hop.excess.p50", hop] for hop in ("1", "2")] == pytest.approx([0, 10], abs=1)
    least_us = 10 + 2 * 8.336
    assert least_us < found["delay.p50", None] < least_us + 30
    assert found["received", None] == found["sent", None] == pytest.approx(625, rel=0.01)
    samples = store.read_samples(trial.samples)
    assert set(samples.port[samples.port >= FIRST_LINK].tolist()) == {FIRST_LINK, FIRST_LINK + 1}
    assert "CPRI" in PdfReader(pdf).pages[0].extract_text()
