"""Does a play end in time whatever a device does, does one device's failure stay its own, and does a secret stay where it belongs?"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestrator.devices import platforms as all_platforms
from orchestrator.devices import runner
from orchestrator.devices.device import AnsibleDevice
from orchestrator.devices.platforms import Platform, playbooks_folder
from orchestrator.devices.runner import Ansible, Outcome
from orchestrator.interruption import Cause, Interruption
from rackproof.errors import DeviceError, Stopped
from rackproof.model.inventory import Credentials
from tests.lab.planting import leaks
from tests.lab.sshd import LinuxBox, linux_box

PASSWORD = 'pl4nted\'in "the" {{ lab }}'


@pytest.fixture(scope="module")
def box() -> Iterator[LinuxBox]:
    with linux_box("switch-1", ports=("eth1",), password=PASSWORD) as box:
        yield box


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Platform:
    """A platform like linux whose facts come from a device that hangs, after it has said a word."""
    folder = tmp_path / "slow"
    shutil.copytree(playbooks_folder() / "linux", folder)
    (folder / "files/facts.sh").write_text("echo name=hangs\nsleep 600\n")
    platform = all_platforms.read(folder)
    known = {**all_platforms.platforms(), "slow": platform}
    monkeypatch.setattr(runner, "platforms", lambda: known)
    return platform


def test_what_fails_on_one_device_is_its_own_failure(box: LinuxBox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "other"], check=True)
    monkeypatch.setenv("LAB_PASSWORD", PASSWORD)
    monkeypatch.setenv("WRONG_PASSWORD", "not-the-password")
    other_key = (tmp_path / "other.pub").read_text()
    by_password = Credentials(user="root", password="env:LAB_PASSWORD")
    devices: dict[str, dict[str, Any]] = {
        "by-key": {},
        "by-password": {"credentials": by_password},
        "unreachable": {"port": 1},
        "other-host-key": {"known_host": other_key},
        "wrong-password": {"credentials": Credentials(user="root", password="env:WRONG_PASSWORD")},
        "wrong-key": {"credentials": Credentials(user="root", private_key=f"file:{tmp_path}/other")},
        "no-secret": {"credentials": Credentials(user="root", password="env:NOT_SET")},
    }
    entries = [box.entry.model_copy(update={"name": name, **changes}) for name, changes in devices.items()]
    told: list[str] = []
    with Ansible() as ansible:
        outcomes = ansible.play("facts", entries, {}, timeout_s=300, heard=told.append)
    assert {name for name, outcome in outcomes.items() if not outcome.error} == {"by-key", "by-password"}
    assert outcomes["by-password"].output["facts"]["ports up"].split() == ["mgmt", "eth1", "br0"]
    for name, word in {
        "unreachable": "Connection refused",
        "other-host-key": "Host key verification failed",
        "wrong-password": "Permission denied",
        "wrong-key": "Permission denied",
        "no-secret": "env:NOT_SET: expected a secret in the environment of the worker",
    }.items():
        assert word in outcomes[name].error
        assert outcomes[name].error.startswith(f"{name}, facts: ")
    texts = {"told": "\n".join(told), **{name: outcome.error for name, outcome in outcomes.items()}}
    assert leaks(PASSWORD, texts=texts) == leaks("not-the-password", texts=texts) == []


def test_a_play_that_hangs_is_killed_at_its_limit_and_keeps_its_secrets(
    box: LinuxBox, slow: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_PASSWORD", PASSWORD)
    monkeypatch.setattr(runner, "GRACE_S", 60.0)
    by_password = Credentials(user="root", password="env:LAB_PASSWORD", private_key=f"file:{box.private_key}")
    hanging = box.entry.model_copy(update={"name": "hanging", "platform": "slow", "credentials": by_password})
    quick = box.entry.model_copy(update={"name": "quick"})
    secrets = (PASSWORD, box.private_key.read_text().splitlines()[1])
    with Ansible() as ansible:
        for limit_s in (4.0, 20.0, 80.0):  # a machine that is busy needs a longer one to come to where the device hangs
            watch = _Watch(ansible, secrets)
            watch.start()
            begun = time.monotonic()
            outcomes = ansible.play("facts", [hanging, quick], {}, timeout_s=limit_s, heard=lambda _: None)
            took_s = time.monotonic() - begun
            watch.end()
            assert limit_s <= took_s
            assert outcomes["hanging"].error == f"hanging, facts: the play did not end within {limit_s:g} s and was killed"
            assert ansible.pid is not None
            assert [child for child in psutil.Process(ansible.pid).children(recursive=True) if _lives(child)] == []
            folder = _private_folder(ansible.pid)
            assert [place for secret in secrets for place in leaks(secret, folders=[folder])] == []
            if watch.seen and outcomes["quick"].output:
                break
        assert watch.seen
        assert outcomes["quick"].output["facts"]["kernel"] == os.uname().release
    assert not folder.exists()
    # While the play ran, secrets stood in the files that Ansible reads them from, for nobody else to read.
    assert {place.rsplit("/", 1)[1] for place in watch.found} == {"inventory.yml", "hanging", "quick"}
    assert [(path, oct(mode)) for path, mode in watch.modes if mode & 0o077] == []


class _Watch(threading.Thread):
    """Looks, while a device hangs, where secrets stand, and who may read the files of the play."""

    def __init__(self, ansible: Ansible, secrets: tuple[str, ...]) -> None:
        super().__init__()
        self._ansible = ansible
        self._secrets = secrets
        self._over = threading.Event()
        self.seen = False
        self.found: list[str] = []
        self.modes: list[tuple[str, int]] = []

    def run(self) -> None:
        while not _sleeps(self._ansible.pid):
            if self._over.wait(0.05):
                return
        assert self._ansible.pid is not None
        folder = _private_folder(self._ansible.pid)
        files = [Path(top, name) for play in folder.glob("play-*") for top, folders, names in os.walk(play) for name in (*folders, *names)]
        for path in (folder, *files):
            with suppress(FileNotFoundError):  # Ansible writes and removes files all the time
                self.modes.append((str(path), path.stat().st_mode & 0o777))
        for secret in self._secrets:
            self.found += leaks(secret, folders=[folder], processes=[self._ansible.pid])
        self.seen = _sleeps(self._ansible.pid)  # where the play has come to its limit meanwhile, not all of it was seen

    def end(self) -> None:
        self._over.set()
        self.join()


def test_a_process_that_does_not_answer_is_killed(box: LinuxBox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "GRACE_S", 0.2)
    with Ansible() as ansible:
        ansible._ready()
        assert ansible.pid is not None
        process = psutil.Process(ansible.pid)
        process.send_signal(signal.SIGSTOP)
        (outcome,) = ansible.play("facts", [box.entry], {}, timeout_s=0.2, heard=lambda _: None).values()
        assert outcome.error == "switch-1, facts: the process that runs plays did not answer within 0.4 s"
        assert not process.is_running()


def test_whoever_wants_an_end_gets_it_at_once(box: LinuxBox, slow: Platform) -> None:
    interruption = Interruption()
    hanging = box.entry.model_copy(update={"platform": "slow"})
    with Ansible(interruption) as ansible:
        threading.Timer(1.0, interruption.set, (Cause.CANCEL, "somebody cancelled")).start()
        begun = time.monotonic()
        with pytest.raises(Stopped, match="somebody cancelled"):
            ansible.play("facts", [hanging], {}, timeout_s=60, heard=lambda _: None)
        assert time.monotonic() - begun < 40  # and not 60
        assert ansible.pid is None


_WORKER = """
import sys
from pathlib import Path
from orchestrator.devices import runner
from orchestrator.devices.platforms import read
from rackproof.model.inventory import DeviceEntry
runner.platforms = lambda: {"slow": read(Path(sys.argv[1]))}
with runner.Ansible() as ansible:
    ansible.play("facts", [DeviceEntry.model_validate_json(sys.argv[2])], {}, timeout_s=600, heard=lambda _: None)
"""


def test_nothing_outlives_a_worker_that_is_killed(box: LinuxBox, slow: Platform) -> None:
    hanging = box.entry.model_copy(update={"platform": "slow"})
    command = [sys.executable, "-c", _WORKER, str(slow.folder), hanging.model_dump_json()]
    with subprocess.Popen(command, cwd=playbooks_folder().parent) as worker:
        end = time.monotonic() + 120
        while not _sleeps(worker.pid):
            assert time.monotonic() < end
            time.sleep(0.05)
        below = psutil.Process(worker.pid).children(recursive=True)
        folder = _private_folder(below[0].pid)
        assert folder.is_dir()
        worker.kill()
    assert psutil.wait_procs(below, timeout=60)[1] == []
    assert not folder.exists()


def test_secrets_of_a_configuration_are_kept_from_whoever_reads_it(box: LinuxBox, tmp_path: Path) -> None:
    told: list[str] = []
    key = "01234567-89abcdef-01234567-89abcdee"
    raw = f"sysctl net.ipv4.tcp_fastopen_key {key}\nsysctl net.ipv4.tcp_sack 1"
    with Ansible() as ansible:
        device = AnsibleDevice(box.entry, ansible, state=tmp_path / "state", heard=told.append)
        text = device.configuration_of(Outcome(output={"configuration": raw}))
        assert text == "sysctl net.ipv4.tcp_fastopen_key ***\nsysctl net.ipv4.tcp_sack 1"
        device.kept.mark_applied()
        with pytest.raises(DeviceError, match=r"tcp_sack 0") as failure:
            device.restored(Outcome(output={"configuration": raw.replace("sack 1", "sack 0")}))  # the key is in the difference's context
        with pytest.raises(DeviceError) as differs:
            device.checked(Outcome(output={"differences": [f"found sysctl net.ipv4.tcp_fastopen_key {key}"]}))
    texts = {"told": "\n".join(told), "configuration": text, "restore": str(failure.value), "check": str(differs.value)}
    assert leaks(key, texts=texts) == []
    # Where it may be: for the restore, and for nobody else to read.
    assert leaks(key, folders=[tmp_path]) == [f"file {tmp_path}/state/configuration"]
    assert (tmp_path / "state/configuration").stat().st_mode & 0o777 == 0o600


def _sleeps(pid: int | None) -> bool:
    """True as soon as the device hangs: ssh waits for it."""
    if pid is None:
        return False
    for child in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "sleep 600" in " ".join(child.cmdline()):
                return True
    return False


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def _private_folder(pid: int) -> Path:
    return Path(psutil.Process(pid).cmdline()[-1])
