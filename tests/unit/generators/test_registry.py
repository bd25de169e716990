"""Are drivers found by being there, without what they drive with, and a broken one told at once?"""

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.generators import registry
from rackproof.errors import NotFound


def test_every_driver_is_found_and_says_what_it_is() -> None:
    assert {"native", "otg"} <= set(registry.drivers())
    for driver in registry.drivers().values():
        assert driver.TITLE
        assert all(driver.OPTIONS.values())
    assert registry.driver("native") is registry.drivers()["native"]


def test_a_kind_that_nobody_drives_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(NotFound, match=r"no generator of kind 'ixia'; there are: native, otg"):
        registry.driver("ixia")


def test_no_client_is_imported_before_a_generator_is_opened() -> None:
    script = (
        "import sys\n"
        "from orchestrator.generators import registry\n"
        "registry.drivers()\n"
        "print(sorted({'snappi', 'grpc', 'trex', 'trex_stl_lib', 'rackproof_native', 'pyroute2'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import nosuchclient\n", "this driver of a generator cannot be imported: No module named 'nosuchclient'"),
        ("TITLE = 'x'\nOPTIONS = {}\n", "a driver of a generator needs objections, opened"),
    ],
)
def test_a_broken_driver_is_told_and_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str, request: pytest.FixtureRequest
) -> None:
    package = f"drivers_{abs(hash(request.node.name))}"
    folder = tmp_path / package
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "broken.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RuntimeError, match=rf"{package}\.broken: {why}"):
        registry.found([str(folder)], package)
