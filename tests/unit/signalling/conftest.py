"""Every test of this folder has a stand-in in the place of the engine's pair of LERs."""

import pytest
import rackproof_native

from orchestrator.signalling import pair
from tests.unit.signalling.standin import Engine


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> type[Engine]:
    class Fresh(Engine):
        """One whose behaviour a test may change."""

    monkeypatch.setattr(rackproof_native, "LerPair", Fresh, raising=False)
    monkeypatch.setattr(pair, "TEAR_S", 0.0)
    monkeypatch.setattr(pair, "LAST_TEAR_S", 0.05)
    return Fresh
