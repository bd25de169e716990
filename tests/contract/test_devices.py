"""What every switch of the bench must do, the same for each; one that this kernel cannot run is skipped with its reason."""

from collections.abc import Iterator

import pytest

from orchestrator.bench.devices import models
from orchestrator.bench.testbed import Bench
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction, Discipline
from rackproof.ports import Rig
from tests.bench_plans import SENDERS, one_device, scheduler, traffic

pytestmark = pytest.mark.netns


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench() as bench:
        yield bench


SWITCHES = sorted(name for name, module in models().items() if not module.objection(scheduler()))


@pytest.fixture(params=SWITCHES)
def rig(request: pytest.FixtureRequest, bench: Bench) -> Iterator[Rig]:
    why = bench.limits_of_models()[request.param]
    if why:
        pytest.skip(f"{request.param}: {why}")
    with bench.assemble(one_device(request.param)) as rig:
        yield rig


def test_everything_arrives_below_saturation_in_order_and_once(rig: Rig) -> None:
    rig.device("dut").apply(scheduler())
    capture = rig.generator.start(traffic()).wait()
    assert len(capture.samples) > 500
    for stream in range(SENDERS):
        sequence = capture.samples.sequence[capture.samples.stream == stream].astype(int)
        assert list(sequence) == list(range(len(sequence)))
        first, last = capture.sent[stream].first_sequence[[0, -1]]
        assert len(sequence) >= last
        assert capture.sent[stream].frames == last - first > 0


def test_frames_keep_priority_size_and_identity(rig: Rig) -> None:
    rig.device("dut").apply(scheduler())
    samples = rig.generator.start(traffic(frame_bytes=700)).wait().samples
    assert set(samples.frame_bytes.tolist()) == {700}
    assert all(set(samples.pcp[samples.stream == stream].tolist()) == {2 * stream} for stream in range(SENDERS))
    assert (samples.rx_ns >= samples.tx_ns).all()


def test_strict_priority_starves_the_lower_queues(rig: Rig) -> None:
    device = rig.device("dut")
    device.apply(scheduler())
    device.check(scheduler())
    capture = rig.generator.start(traffic(load_mbps=18.0)).wait()
    within = (capture.samples.rx_ns >= capture.batch_starts_ns[0]) & (capture.samples.rx_ns < capture.batch_starts_ns[-1])
    share = [((capture.samples.stream == stream) & within).sum() / within.sum() for stream in range(SENDERS)]
    # 18 of 20 Mbit/s are the top queue's, which loses next to nothing; the second gets what is left, the others nothing.
    top = capture.samples.sequence[capture.samples.stream == SENDERS - 1]
    assert len(top) >= 0.99 * capture.sent[SENDERS - 1].first_sequence[-1]
    assert share[3] > 0.8
    assert share[0] + share[1] < 0.02


def test_weighted_round_robin_shares_by_weight(rig: Rig) -> None:
    device = rig.device("dut")
    weights = (0.1, 0.2, 0.3, 0.4)
    device.apply(scheduler(Discipline.WRR_BYTES, weights))
    capture = rig.generator.start(traffic(load_mbps=18.0, duration_s=0.5)).wait()
    within = (capture.samples.rx_ns >= capture.batch_starts_ns[0]) & (capture.samples.rx_ns < capture.batch_starts_ns[-1])
    share = [((capture.samples.stream == stream) & within).sum() / within.sum() for stream in range(SENDERS)]
    assert share == pytest.approx(weights, abs=0.02)


def test_counters_agree_with_what_was_received(rig: Rig) -> None:
    device = rig.device("dut")
    device.apply(scheduler())
    before = device.counters()
    capture = rig.generator.start(traffic(load_mbps=18.0)).wait()
    after = device.counters()
    sent = [after[f"queue.{queue}.sent"] - before[f"queue.{queue}.sent"] for queue in range(4)]
    assert sum(sent) == len(capture.samples)
    assert after["queue.0.dropped"] > before["queue.0.dropped"]


def test_restore_brings_the_configuration_back(rig: Rig) -> None:
    device = rig.device("dut")
    before = device.configuration()
    device.apply(scheduler())
    during = device.configuration()
    device.apply(scheduler(Discipline.WRR_BYTES, (0.1, 0.2, 0.3, 0.4)))
    assert device.configuration() not in (before, during)
    device.restore()
    assert device.configuration() == before
    device.apply(scheduler())
    assert device.configuration() == during


def test_a_function_that_it_does_not_know_is_refused(rig: Rig) -> None:
    with pytest.raises(DeviceError, match="cannot do"):
        rig.device("dut").apply(DeviceFunction())


def test_facts_name_the_model(rig: Rig) -> None:
    assert rig.device("dut").facts()["model"] in models()
