"""Do the files beside the code say what they must, and nothing that binds them to one machine?"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[3]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-bootstrap.txt")


def load(name: str) -> Any:
    return YAML(typ="safe", pure=True).load((ROOT / name).read_text())


@pytest.mark.parametrize("name", LOCKS)
def test_a_lockfile_pins_everything_with_hashes_and_names_no_index_and_no_machine(name: str) -> None:
    text = (ROOT / name).read_text()
    assert not re.search(r"^\s*(-i|-f|--index|--extra-index|--find-links|--trusted-host)", text, re.MULTILINE)
    assert "://" not in text
    assert not re.search(r"(^|\s)/\w+/", text)
    entries = re.split(r"\n(?=\S)", text.strip())
    pinned = [entry for entry in entries if not entry.startswith("#")]
    assert pinned
    for entry in pinned:
        assert re.match(r"[a-z0-9._-]+(\[[a-z,]+\])?==[^ ]+ ", entry), entry[:60]
        assert "--hash=sha256:" in entry, entry[:60]


def test_the_lockfiles_agree() -> None:
    def versions(name: str) -> set[tuple[str, str]]:
        return set(re.findall(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==([^ ]+)", (ROOT / name).read_text(), re.MULTILINE))

    assert versions("requirements.lock") <= versions("requirements-dev.lock")
    assert versions("requirements-bootstrap.txt") <= versions("requirements-dev.lock")


def test_every_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    locked = set(re.findall(r"^([a-z0-9._-]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
    names = {re.split(r"[\[<>=]", dependency)[0].replace(".", "-") for dependency in project["dependencies"]}
    assert names <= {name.replace(".", "-") for name in locked}


def test_the_compose_file_has_no_password_and_opens_nothing_to_the_network() -> None:
    compose = load("docker-compose.yml")
    assert set(compose) == {"name", "services", "volumes", "secrets"}
    for name, service in compose["services"].items():
        image, _, tag = service["image"].partition(":")
        assert image, name
        assert re.match(r"\d+\.\d+", tag), f"{name}: pin the image's version"
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:"), f"{name}: {port}"
        environment = service.get("environment", {})
        assert not {key for key in environment if "PASSWORD" in key and not key.endswith("_FILE")}, name
        assert set(service.get("secrets", [])) <= set(compose["secrets"]), name
        assert {volume.partition(":")[0] for volume in service.get("volumes", [])} <= set(compose["volumes"]), name
        if service["restart"] != "no":  # what runs once and ends has no health
            assert service["healthcheck"]["test"][0] == "CMD", name
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
    for secret in compose["secrets"].values():
        assert (ROOT / secret["file"]).parent.name == "secrets"
    assert "/secrets/" in (ROOT / ".gitignore").read_text().splitlines()


def test_the_hooks_need_no_network() -> None:
    config = load(".pre-commit-config.yaml")
    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    assert all(hook["language"] == "system" for repository in config["repos"] for hook in repository["hooks"])


def test_doctor_finds_nothing_missing_where_the_tests_run() -> None:
    done = subprocess.run([str(ROOT / "scripts" / "doctor"), "--test"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def test_doctor_says_what_is_missing_and_how_to_get_it(tmp_path: Path) -> None:
    """On a machine that has nothing but a shell and an old cargo."""
    for tool in ("sh", "dirname", "uname", "sed", "head", "awk", "sort"):
        found = subprocess.run(["/bin/sh", "-c", f"command -v {tool}"], capture_output=True, text=True, check=True).stdout.strip()
        (tmp_path / tool).symlink_to(found)
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\necho 'cargo 0.66.0'\n")
    cargo.chmod(0o755)
    done = subprocess.run(
        [str(ROOT / "scripts" / "doctor")], capture_output=True, text=True, timeout=300, check=False, env={"PATH": str(tmp_path)}
    )
    assert done.returncode == 1
    for words in (
        "git is missing",
        "a C compiler is missing",
        "Python 3.11 or newer is missing",
        "cargo 0.66.0 is too old",
        "rustup",
        "apt-get install",
    ):
        assert words in done.stderr, done.stderr


def test_doctor_names_the_package_of_a_python_without_venv(tmp_path: Path) -> None:
    python = tmp_path / "python-without-venv"
    version = ".".join(map(str, sys.version_info[:2]))
    python.write_text(f'#!/bin/sh\ncase "$2" in *ensurepip*) exit 1 ;; esac\nexec \'{sys.executable}\' "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(
        [str(ROOT / "scripts" / "doctor")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHON": str(python)},
    )
    assert f"python{version}-venv" in done.stderr
