"""LSPs that flap through a router of the bench, from the plan to the report: a label that outlives its tear is found, and nothing else."""

import os
from pathlib import Path

import pytest
from pypdf import PdfReader

from rackproof.model.campaign import CampaignState
from rackproof.model.lsp import FIRST_EVENT, PROBE, EventKind
from rackproof.model.verdict import Verdict
from rackproof.store import Store
from tests.e2e.plans import rackproof

pytestmark = [
    pytest.mark.netns,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]

PLAN = """
kind: mpls-flap
name: short
networks:
  - {name: stale, model: soft-lsr, options: {stale_label: true}}
tests:
  - {name: "1.2", stable: 10, flapped: [20], frame_bytes: 512, rate_mbps: 8}
phases: {prior_s: 1, windows_s: [0.6, 0.6], drain_s: 0.3}
# What is asked here is whether labels are right, on a machine that may be busy with other tests.
margins: {delay_us: 1000000, loss: 0.5, gap_ms: 30, slope_us_per_s: 1000000}
validity: {stalled_share_max: 1.0, lateness_p99_us_max: 1000000, flap_late_ms_max: 1000}
expect:
  - {device: stale, criteria: [stale-label]}
"""


def test_a_label_that_outlives_its_tear_is_found(environment: dict[str, str], store: Store, tmp_path: Path) -> None:
    plan, pdf = tmp_path / "plan.yaml", tmp_path / "out.pdf"
    plan.write_text(PLAN)
    done = rackproof("run", str(plan), "--pdf", str(pdf), environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    record = store.campaign(1)
    assert (record.state, record.verdict) == (CampaignState.DONE, Verdict.PASS)
    assert [finding.criterion for finding in record.findings if finding.verdict is Verdict.FAIL] == ["stale-label"]
    (trial,) = record.trials
    assert trial.result is not None
    assert trial.samples is not None
    found = {(each.name, each.subject.get("flap")): each.value for each in trial.result.measurements}
    assert found["established", None] == 30
    assert found["flap.k", "1"] == found["flap.tears_received", "1"] == found["k.paper", None] == 20
    assert (found["path_tears.received", None], found["failed", None]) == (40, 0)
    assert found["probes.stale", None] > 0
    samples = store.read_samples(trial.samples)
    assert (samples.port == PROBE).any()
    assert (samples.port == FIRST_EVENT + EventKind.TEAR_RECEIVED).sum() >= 40
    assert "stale" in PdfReader(pdf).pages[0].extract_text()
