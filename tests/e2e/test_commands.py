"""The command line as a person and as a script use it: from a plan to a PDF, and what it says to bad input."""

import json
from pathlib import Path

import pytest
from pypdf import PdfReader

from rackproof.model.campaign import CampaignState
from rackproof.store import Store
from tests.e2e.plans import ROOT, rackproof, write_plan

pytestmark = pytest.mark.netns


def test_from_plan_to_pdf(environment: dict[str, str], store: Store, tmp_path: Path) -> None:
    pdf = tmp_path / "out" / "switches.pdf"
    done = rackproof("run", str(write_plan(tmp_path, devices="reference, linux-htb")), "--pdf", str(pdf), environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASS" in done.stdout
    assert str(pdf) in done.stdout
    first = PdfReader(pdf).pages[0].extract_text()
    assert "PASS" in first
    assert "short" in first
    html = pdf.with_suffix(".html").read_text()
    assert "linux-htb" in html
    record = store.campaign(1)
    assert record.state is CampaignState.DONE
    assert len(record.trials) == 8
    assert record.calibration is not None
    assert record.plan_sha256 in html
    assert {"Rackproof", "Host", "Testbed", "Device reference", "Device linux-htb"} <= set(record.provenance)
    assert {f"reference, {when} strict-priority" for when in ("before", "as tested with", "after")} <= set(record.configurations)

    again = tmp_path / "again.pdf"
    assert rackproof("report", "1", "--pdf", str(again), environment=environment).returncode == 0
    assert len(PdfReader(again).pages) == len(PdfReader(pdf).pages)

    shown = rackproof("show", "1", environment=environment).stdout
    assert "DONE" in shown
    assert shown.count("PASS") >= 8
    listed = json.loads(rackproof("list", "--json", environment=environment).stdout)
    assert [(campaign["id"], campaign["verdict"]) for campaign in listed] == [(1, "PASS")]
    whole = json.loads(rackproof("show", "--json", environment=environment).stdout)
    assert whole["trials"][0]["result"]["measurements"]


def test_a_faulty_device_is_found_and_exits_with_1(environment: dict[str, str], tmp_path: Path) -> None:
    plan = write_plan(tmp_path, devices="{name: leaky, model: reference, options: {leak: 0.6}}")
    done = rackproof("run", str(plan), environment=environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAIL" in done.stdout

    expected = plan.read_text() + "expect:\n  - {device: leaky, criteria: [sp.leak, sp.top_share, throughput.deviation]}\n"
    plan.write_text(expected)
    done = rackproof("run", str(plan), environment=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "as expected" in done.stdout


def test_a_planted_fault_that_is_not_found_is_a_fail(environment: dict[str, str], tmp_path: Path) -> None:
    plan = write_plan(tmp_path)
    plan.write_text(plan.read_text() + "expect:\n  - {device: reference, criteria: [sp.leak]}\n")
    done = rackproof("run", str(plan), environment=environment)
    assert done.returncode == 1
    assert "expected to fail sp.leak, but did not" in " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("rate_mbps: 20", "rate_gbps: 1"), "rate_gbps"),
        (("[0.1, 0.2, 0.3, 0.4]", "[0.1, 0.2, 0.3, 0.5]"), "sum"),
        (("per_sender_mbps: [2, 12]", "per_sender_mbps: [2, 120]"), "120"),
        (("kind: switch-qos", "kind: toaster"), "toaster"),
        (("devices: [reference]", "devices: ["), "line"),
    ],
)
def test_bad_input_is_refused_with_its_line(environment: dict[str, str], tmp_path: Path, change: tuple[str, str], said: str) -> None:
    plan = write_plan(tmp_path)
    text = plan.read_text()
    assert change[0] in text
    plan.write_text(text.replace(*change))
    done = rackproof("rehearse", str(plan), environment=environment)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_infeasible_plan_is_refused_before_anything_is_touched(environment: dict[str, str], store: Store, tmp_path: Path) -> None:
    plan = write_plan(tmp_path, devices="toaster")
    for verb in ("rehearse", "run"):
        done = rackproof(verb, str(plan), environment=environment)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "toaster" in done.stderr
    assert store.campaigns() == []


def test_rehearse_says_what_saturates(environment: dict[str, str], tmp_path: Path) -> None:
    done = rackproof("rehearse", str(write_plan(tmp_path)), "--json", environment=environment)
    assert done.returncode == 0, done.stderr
    rehearsal = json.loads(done.stdout)
    assert len(rehearsal["trials"]) == 4
    assert "saturate" in rehearsal["notes"]["2"]


@pytest.mark.parametrize("plan", sorted(path.name for path in (ROOT / "testplans" / "switch_qos").glob("*.yaml")))
def test_every_plan_in_the_box_is_a_plan(environment: dict[str, str], plan: str) -> None:
    done = rackproof("rehearse", f"testplans/switch_qos/{plan}", environment=environment)
    # paper.yaml is for hardware: the bench says so, and that is all that is wrong with it.
    assert done.returncode == (2 if plan == "paper.yaml" else 0), done.stderr
    if plan == "paper.yaml":
        assert "bench" in done.stderr


def test_bench_check_and_clean(environment: dict[str, str]) -> None:
    check = rackproof("bench", "check", "--json", environment=environment)
    assert check.returncode == 0, check.stderr
    probes = {probe["name"]: probe["available"] for probe in json.loads(check.stdout)["probes"]}
    assert probes["device reference"]
    clean = rackproof("bench", "clean", environment=environment)
    assert (clean.returncode, clean.stdout.strip()) == (0, "Nothing to clean.")


def test_kinds_and_unknown_campaigns(environment: dict[str, str]) -> None:
    kinds = json.loads(rackproof("kinds", "--json", environment=environment).stdout)
    assert kinds["switch-qos"]["schema"]["properties"]["devices"]
    missing = rackproof("show", "77", environment=environment)
    assert missing.returncode == 2
    assert "77" in missing.stderr
    assert rackproof("show", "../etc", environment=environment).returncode == 2
