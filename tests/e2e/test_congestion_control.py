"""A comparison of schemes on the bench, from the plan to the report: one that is there, and one that no machine of ours has."""

import shutil
from pathlib import Path

import pytest
from pypdf import PdfReader

from rackproof.model.campaign import CampaignState
from rackproof.model.path import BACKWARD, FORWARD, Packets
from rackproof.model.verdict import Verdict
from rackproof.store import Store
from tests.e2e.plans import rackproof

pytestmark = [pytest.mark.netns, pytest.mark.skipif(shutil.which("iperf3") is None, reason="needs iperf3 (Debian package iperf3)")]

PLAN = """
kind: congestion-control
name: two schemes
schemes: [cubic, sprout]
runtime_s: 2
repetitions: 1
qdiscs: {cubic: pfifo}
path:
  forward: {rate_mbps: 20, delay_ms: 5, buffer_bytes: 50000}
"""


def test_a_scheme_is_measured_and_one_that_is_not_there_keeps_its_place(environment: dict[str, str], store: Store, tmp_path: Path) -> None:
    plan, pdf = tmp_path / "plan.yaml", tmp_path / "out.pdf"
    plan.write_text(PLAN)
    done = rackproof("run", str(plan), "--pdf", str(pdf), environment=environment)
    assert done.returncode == 3, done.stdout + done.stderr
    record = store.campaign(1)
    assert record.state is CampaignState.DONE
    cubic, sprout = sorted(record.trials, key=lambda each: str(each.trial.point["scheme"]))

    assert sprout.result is not None
    assert sprout.result.verdict is Verdict.ERROR
    assert "Sprout is not on this host: the wrapper sprout is in no registry" in sprout.result.reason

    assert cubic.result is not None
    assert cubic.result.verdict is Verdict.PASS, cubic.result.reason
    numbers = {each.name: each.value for each in cubic.result.measurements if each.subject["flow"] == "all"}
    assert 14 < numbers["throughput"] <= 20.01
    assert 5 <= numbers["delay.p50"] <= numbers["delay.p95"] < 5 + 50000 * 8 / 20e3 + 5
    assert numbers["capacity"] == 20
    assert 0 < numbers["cpu.sender"] < 10
    assert cubic.samples is not None
    samples = store.read_samples(cubic.samples)
    there, back = Packets.of(samples, FORWARD), Packets.of(samples, BACKWARD)
    assert int(there.packet_bytes[there.delivered].sum()) * 8 == pytest.approx(numbers["throughput"] * 2e6, rel=0.15)
    assert 0 < len(back) < len(there)
    assert record.provenance["Scheme cubic"]["version"].startswith("iperf 3")

    pages = [page.extract_text() for page in PdfReader(pdf).pages]
    assert "ERROR" in pages[0]
    assert any("Run 1: Report of TCP Cubic" in page for page in pages)
    assert any("Sprout is not on this host" in page for page in pages)
