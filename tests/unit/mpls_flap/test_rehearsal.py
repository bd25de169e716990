"""What does a rehearsal say of a plan, and what does it refuse?"""

from dataclasses import replace

from rackproof.planfile import read_plan, validate
from rackproof.ports import Limits
from testplans.mpls_flap.plan import MplsFlapPlan
from testplans.mpls_flap.rehearsal import rehearse
from tests.unit.mpls_flap.plans import plan
from tests.unit.mpls_flap.test_plan import READY

OPTIONS = {"forwarding", "drop_tears", "stale_label", "early_resv_ms", "wrong_label", "ignore_router_alert", "steal_us", "memory_fps"}
LIMITS = Limits(
    send_fps=150e3,
    receive_fps=150e3,
    link_rate_bps_max={},
    device_models={"soft-lsr": "", "linux-mpls": "the kernel has no MPLS"},
    options={"soft-lsr": frozenset(OPTIONS)},
    signalling="",
    notes={"soft-lsr": {"mpls": ("an LSP takes it 16 ms",)}},
)
PAPER = validate(MplsFlapPlan, read_plan(READY["paper"]))


def test_frame_rates_beyond_the_bench_are_refused_and_a_scale_is_proposed_that_is_not() -> None:
    found = rehearse(PAPER, LIMITS)
    assert found.refusals == (
        "three routers: expected at most 150000 frames/s, which the generator can pace and record, found 1488086 at 761.9 Mbit/s with "
        "frames of 64 bytes; 6 of 12 tests are beyond it",
        "one router: expected at most 150000 frames/s, which the generator can pace and record, found 1488086 at 761.9 Mbit/s with "
        "frames of 64 bytes; 6 of 12 tests are beyond it",
        "rate_scale: expected at most 0.09, found 1: with the line `rate_scale: 0.09` in the plan, this testbed carries all of it; "
        "900 Mbit/s are then sent as 81, and the report says so",
    )
    scaled = rehearse(PAPER.model_copy(update={"rate_scale": 0.09}), LIMITS)
    assert scaled.refusals == ()
    assert any(text.startswith("rate_scale 0.09: what is sent is less") for text in scaled.warnings)


def test_a_testbed_that_cannot_signal_refuses_with_why() -> None:
    found = rehearse(PAPER.model_copy(update={"rate_scale": 0.09}), replace(LIMITS, signalling="trex-1: it does not speak RSVP-TE"))
    assert found.refusals == ("no LER can be emulated here: trex-1: it does not speak RSVP-TE",)


def test_routers_of_a_bench_share_its_processors() -> None:
    fast = replace(LIMITS, send_fps=500e3, receive_fps=500e3)
    ring = {"name": "ring", "model": "soft-lsr", "shape": "ring", "routers": 6}
    test = {"name": "a", "stable": 10, "flapped": [10], "frame_bytes": 512, "rate_mbps": 500}
    refusals = rehearse(plan(networks=["soft-lsr", ring], tests=[test]), fast).refusals
    assert refusals[0].startswith(
        "ring: expected at most 450000 frames/s, which the 4 routers of an LSP can forward together on this bench, found 488281"
    )
    assert "rate_scale: 0.8" in refusals[1]
    lab = plan(testbed="lab1", networks=["soft-lsr", ring], tests=[test])
    assert rehearse(lab, fast).refusals == ()


def test_what_the_link_leaves_of_a_rate_is_said() -> None:
    found = rehearse(PAPER, LIMITS)
    assert "test 3.1: at 64 bytes 900 Mbit/s is 761.9: preamble and gap take the rest of 1000 Mbit/s" in found.warnings
    assert "tests 1.1, 2.1, 3.1, 4.1: frames below 78 bytes have no room for an IP header behind the label" in found.warnings
    assert "one router: an LSP takes it 16 ms" in found.warnings


def test_ready_plans_of_the_bench_are_refused_for_nothing() -> None:
    for name in ("paper_bench", "demo", "defects"):
        assert rehearse(validate(MplsFlapPlan, read_plan(READY[name])), LIMITS).refusals == ()


def test_more_instances_than_lsp_ids_are_refused() -> None:
    sweep = {"name": "a", "stable": 1000, "flapped": [20000], "frame_bytes": 512, "rate_mbps": 40}
    (text,) = rehearse(plan(tests=[sweep], phases={"windows_s": [1, 1, 1]}), LIMITS).refusals
    assert text.startswith("test a: expected at most 65000 LSPs in a trial")
    assert text.endswith("found up to 81000")


def test_models_that_are_not_there_are_refused() -> None:
    (text,) = rehearse(plan(networks=["linux-mpls"]), LIMITS).refusals
    assert text == "networks[0] linux-mpls: the model linux-mpls cannot be used here: the kernel has no MPLS"
    (text,) = rehearse(plan(networks=[{"name": "a", "model": "soft-lsr", "options": {"steal": 1}}]), LIMITS).refusals
    assert "found steal" in text
    (text,) = rehearse(plan(networks=[{"name": "a", "devices": ["mx-1"]}]), LIMITS).refusals
    assert text == "networks[0] a: expected a device model of this testbed (linux-mpls, soft-lsr), found mx-1"


def test_notes_and_warnings_say_what_is_to_be_expected() -> None:
    quiet = replace(LIMITS, notes={})
    found = rehearse(plan(), quiet)
    assert found.notes[2] == "40 Mbit/s offered, 9766 frames/s; 2 flaps of 6 LSPs, torn within 3 ms; K = N takes 66.7 ms an LSP or less"
    assert found.warnings == ("how fast the routers set LSPs up is not known before: a trial may take up to 60 s longer than is said here",)
    slow = rehearse(plan(signalling={"refresh_s": 600, "teardowns_per_s": 10}), quiet).warnings
    assert "refresh_s 600: LSPs that a killed run leaves stay in the routers for up to 3150 s" in slow
    assert "test 1.2: 6 tears at 10/s outlast the first window: K is then the pace's" in slow
    thin = rehearse(plan(rate_scale=0.01), quiet).warnings
    assert "test 1.2, 2 flapped: 15 frames an LSP and phase: the interval of its delay will be wide" in thin
    by_hand = rehearse(plan(signalling={"by": "configuration"}), quiet)
    assert by_hand.warnings == ("by configuration: where routers take longer to be configured than a window lasts, the trial is INVALID",)
    assert by_hand.notes[1] == "40 Mbit/s offered, 9766 frames/s; 2 flaps of 2 LSPs by configuration"
