"""Is every folder of playbooks/ sound? Its description, the syntax of its playbooks, and what ansible-lint says of them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.devices.platforms import playbooks_folder, read

ROOT = playbooks_folder().parent
FOLDERS = sorted(path.parent for path in playbooks_folder().glob("*/platform.yaml"))


def run(*command: str, home: Path, cwd: Path = ROOT) -> tuple[int, str]:
    """Run one of Ansible's programs without anybody's settings; how it ended, and what it said."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "HOME": str(home), "ANSIBLE_HOME": str(home / "ansible")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_platform_is_described(folder: Path) -> None:
    platform = read(folder)
    assert platform.functions
    assert platform.proven.endswith(".")
    page = (ROOT / "docs" / "platforms" / f"{platform.name}.md").read_text()
    assert platform.title in page


@pytest.mark.parametrize("name", ["eos", "ios", "junos", "nxos"])
def test_what_was_not_run_on_hardware_is_said(name: str) -> None:
    assert read(playbooks_folder() / name).proven.startswith("Not yet run on hardware")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("eos", "username lab role network-admin secret sha512 $6$HIDDEN"),
        ("eos", "snmp-server community HIDDEN ro"),
        ("eos", "   neighbor 10.0.0.1 password 7 HIDDEN"),
        ("ios", "enable secret 9 $9$HIDDEN"),
        ("ios", "username lab privilege 15 password 0 HIDDEN"),
        ("ios", "snmp-server community HIDDEN RO"),
        ("ios", " ip ospf message-digest-key 1 md5 7 HIDDEN"),
        ("junos", '    encrypted-password "$6$HIDDEN"; ## SECRET-DATA'),
        ("junos", '    authentication-key "$9$HIDDEN"; ## SECRET-DATA'),
        ("junos", "    community HIDDEN {"),
        ("nxos", "username lab password 5 $5$HIDDEN  role network-admin"),
        ("nxos", "snmp-server community HIDDEN group network-operator"),
        ("nxos", "  ip ospf message-digest-key 1 md5 3 HIDDEN"),
        ("nxos", "snmp-server user lab network-admin auth md5 0xHIDDEN priv 0xHIDDEN localizedkey"),
        ("nxos", "tacacs-server host 10.0.0.1 key 7 HIDDEN"),
    ],
)
def test_secrets_are_found_in_what_vendors_write(name: str, line: str) -> None:
    for pattern in read(playbooks_folder() / name).secrets:
        line = re.sub(pattern, lambda match: match[0].replace(match[1], "***"), line)
    assert "***" in line
    assert "HIDDEN" not in line


def test_the_syntax_of_all_playbooks(tmp_path: Path) -> None:
    playbooks = [str(path) for folder in FOLDERS for path in sorted(folder.glob("*.yml"))]
    code, said = run("ansible-playbook", "--syntax-check", *playbooks, home=tmp_path)
    assert code == 0, said


def test_lint(tmp_path: Path) -> None:
    """The plays of a platform in one file: ansible-lint starts a process for every playbook, and that is most of its time."""
    files = []
    for folder in FOLDERS:
        if (folder / "library").exists():
            shutil.copytree(folder / "library", tmp_path / "playbooks" / folder.name / "library")
        plays = [path.read_text().removeprefix("---\n") for path in sorted(folder.glob("*.yml"))]
        texts = {path.relative_to(folder): path.read_text() for path in folder.rglob("*.yml") if path.parent != folder}
        for path, text in {**texts, Path("site.yml"): "---\n" + "\n".join(plays)}.items():
            copy = Path("playbooks") / folder.name / path
            (tmp_path / copy).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / copy).write_text(text)
            files.append(str(copy))
    code, said = run("ansible-lint", "--nocolor", "-c", str(ROOT / ".ansible-lint"), *files, home=tmp_path, cwd=tmp_path)
    assert code == 0, said
    assert "WARNING" not in said, said
    assert f"in {len(files)} files processed of {len(files)} encountered" in said, said
