"""Where XDP is not allowed, these tests say so."""

from functools import cache

import pytest

from orchestrator.bench.namespaces import Namespace
from orchestrator.bench.xpfe.element import XdpElement
from orchestrator.bench.xpfe.native import NativeElement
from rackproof.errors import BenchError


@cache
def _why_not() -> str:
    try:
        with Namespace("probe") as namespace:
            XdpElement(name="probe", namespace=namespace, ports=()).close()
    except (PermissionError, BenchError) as error:
        return f"XDP is not allowed here: {error}"
    return ""


@pytest.fixture(autouse=True)
def _xdp(request: pytest.FixtureRequest) -> None:
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    native = NativeElement in parameters.values()
    if not native and (why := _why_not()):
        pytest.skip(why)
