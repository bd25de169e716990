"""Would the containers start, with no more rights than they need? No engine is at hand: files are checked, and the image's steps run."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[3]
COMPOSE: dict[str, Any] = YAML(typ="safe", pure=True).load((ROOT / "docker-compose.yml").read_text())["services"]
OURS = {name: service for name, service in COMPOSE.items() if service["image"].startswith("rackproof:")}


def test_the_compose_file_keeps_its_schema() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", OURS)
def test_our_containers_are_nobody_and_may_write_nowhere_but_in_their_volume(name: str) -> None:
    service = OURS[name]
    assert service["user"] == "10001:10001"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "privileged" not in service
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["secrets"] == ["rackproof_database_url"]
    # Only the worker needs what the default seccomp profile forbids.
    assert ("seccomp:unconfined" in service["security_opt"]) == (name == "worker")


def test_they_start_in_an_order_that_works() -> None:
    assert OURS["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("api", "worker"):
        assert OURS[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}


@pytest.mark.parametrize("name", OURS)
def test_every_command_is_one_that_there_is(name: str) -> None:
    """With --help after it, a command's options are read, and nothing is done."""
    command = [sys.executable, "-c", "from rackproof.cli.main import main; main()", *OURS[name]["command"], "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_image_is_built_from_pinned_images_and_the_script_that_is_tested() -> None:
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert all(re.fullmatch(r"[a-z]+:\d+\.\d+[\w.-]*", base) for base in bases)
    assert "RUN /source/deploy/build /source /opt/rackproof" in text
    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE)
    rust = re.search(r'rust-version = "([\d.]+)"', (ROOT / "native" / "Cargo.toml").read_text())
    image = re.search(r"FROM rust:([\d.]+)", text)
    assert rust is not None
    assert image is not None
    assert tuple(map(int, image[1].split("."))) >= tuple(map(int, rust[1].split(".")))


def test_secrets_come_from_files(tmp_path: Path) -> None:
    from rackproof.settings import Settings

    (tmp_path / "rackproof_database_url").write_text("postgresql://rackproof:hunter2@postgres:5432/rackproof\n")
    script = "from rackproof.settings import Settings; print(Settings.load().database_url.get_secret_value())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env={**os.environ, "RACKPROOF_SECRETS_DIR": str(tmp_path)},
    )
    assert done.stdout.strip() == "postgresql+psycopg://rackproof:hunter2@postgres:5432/rackproof"
    assert "hunter2" not in repr(Settings.load(database_url=(tmp_path / "rackproof_database_url").read_text().strip()))


@pytest.mark.skipif(not os.environ.get("RACKPROOF_LONG"), reason="fetches all packages and builds the engine: minutes")
def test_the_steps_of_the_image_make_an_environment_that_works(tmp_path: Path) -> None:
    target = tmp_path / "rackproof"
    subprocess.run([str(ROOT / "deploy" / "build"), str(ROOT), str(target)], timeout=1800, check=True, cwd=tmp_path)
    # From elsewhere, so that nothing is found in the source tree.
    script = "import api.app, orchestrator.service.worker, rackproof_native, reports, testplans.registry as r; print(sorted(r.kinds()))"
    done = subprocess.run(
        [str(target / "bin" / "python"), "-c", script], capture_output=True, text=True, timeout=300, check=True, cwd=tmp_path
    )
    assert "switch-qos" in done.stdout
