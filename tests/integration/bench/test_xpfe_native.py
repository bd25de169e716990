"""Where XDP is not allowed, chains of elements forward in user space: the same plan, the same measurements, and the facts say so."""

import json
import subprocess
import sys

import pytest

from tests.integration.bench.test_testbed import drop_capabilities

pytestmark = pytest.mark.netns

CHAIN = """
import json
from orchestrator.bench.testbed import Bench
from testplans.xpfe_delay import procedure
from testplans.xpfe_delay.expansion import expand
from tests.integration.bench.test_chains import HOPS, plan_of
plan = plan_of("xpfe")
(trial,) = expand(plan)
setup = procedure.setup(plan, trial)
with Bench() as bench, bench.assemble(setup.topology) as rig:
    facts = rig.device("xpfe-2").facts()
    for name, functions in setup.functions.items():
        for function in functions:
            rig.device(name).apply(function)
            rig.device(name).check(function)
    seen = procedure.run(plan, trial, 1, rig)
    samples = seen.capture.samples
    print(json.dumps({
        "rights": bench.rights,
        "facts": dict(facts),
        "sent": int(seen.capture.sent[procedure.MEASURED].first_sequence[-1]),
        "ports": [int(port) for port in samples.port],
        "counters": dict(seen.counters),
        "hops": HOPS,
    }))
"""


def test_without_rights_the_native_engine_forwards_and_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHAIN], capture_output=True, text=True, timeout=60, check=False, preexec_fn=drop_capabilities
    )
    if "Remedy:" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["rights"] == "user namespace"
    assert seen["facts"]["forwarding"] == "native engine, user space"
    assert seen["sent"] > 400
    # Without a claim to a processor, some frames may still be under way at the end.
    assert len(seen["ports"]) > 0.9 * seen["sent"] * seen["hops"]
    counters = {name: value for name, value in seen["counters"].items() if name.startswith("xpfe-2.")}
    assert counters["xpfe-2.table.0.west.frames"] > 0.9 * seen["sent"]
    assert not any(value for name, value in counters.items() if name.startswith(("xpfe-2.drop.", "xpfe-2.ring_drops", "xpfe-2.errors")))
