"""Does the embedded server start for whoever comes first, stop with whoever leaves last, and stay closed to everybody else?"""

import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from rackproof.errors import StoreError
from rackproof.settings import Settings
from rackproof.store import Store, cluster, stop_if_unused
from rackproof.store.cluster import Cluster
from rackproof.store.embedded import EmbeddedServer
from tests.conftest import a_trial
from tests.integration.store.namespaces import as_root_of_namespace, small_disk

USES = """
import signal
import sys
from pathlib import Path
from rackproof.store.embedded import EmbeddedServer
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background has it ignored
with EmbeddedServer(Path(sys.argv[1])) as server:
    print("using", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose database was made and never used."""
    folder = tmp_path_factory.mktemp("pristine")
    with EmbeddedServer(folder):
        pass
    return folder


@pytest.fixture
def data_dir(tmp_path: Path, pristine: Path) -> Iterator[Path]:
    """A folder with a database, whose server does not outlive the test."""
    shutil.copytree(pristine / "postgres", tmp_path / "postgres", symlinks=True)
    yield tmp_path
    cluster.stop(cluster_of(tmp_path))


def cluster_of(data_dir: Path) -> Cluster:
    return EmbeddedServer(data_dir).cluster


def running(data_dir: Path) -> bool:
    return cluster.server_pid(cluster_of(data_dir)) is not None


def kill(server: EmbeddedServer) -> None:
    """Kill every process of a server: a session that is left would still do one more piece of work before it notices."""
    pid = cluster.server_pid(server.cluster)
    assert pid is not None
    postmaster = psutil.Process(pid)
    postmaster.suspend()  # it starts no further process meanwhile
    for process in [*postmaster.children(), postmaster]:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    deadline = time.monotonic() + 30
    while cluster.server_pid(server.cluster) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def process_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.getcwd()}


@contextmanager
def used_elsewhere(data_dir: Path, prefix: Sequence[str] = ()) -> Iterator["subprocess.Popen[str]"]:
    """Another process that uses the server until its standard input ends, in a session of its own."""
    with subprocess.Popen(
        [*prefix, sys.executable, "-c", USES, str(data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=process_environment(),
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "using\n"
            yield process
        finally:
            process.kill()


def leave(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=120) == 0


def test_the_server_starts_with_the_first_and_stops_with_the_last(data_dir: Path) -> None:
    with ExitStack() as first:
        first.enter_context(EmbeddedServer(data_dir))
        pid = cluster.server_pid(cluster_of(data_dir))
        assert pid is not None
        with used_elsewhere(data_dir) as second:
            assert cluster.server_pid(cluster_of(data_dir)) == pid
            first.close()
            assert cluster.server_pid(cluster_of(data_dir)) == pid
            leave(second)
    assert not running(data_dir)


def test_two_that_come_at_once_share_one_server(data_dir: Path) -> None:
    with ExitStack() as stack:
        users = [stack.enter_context(used_elsewhere(data_dir)) for _ in range(2)]
        servers = {
            process.info["pid"]: process.info["ppid"]
            for process in psutil.process_iter(["pid", "ppid", "cmdline"])
            if "-D" in (process.info["cmdline"] or []) and str(cluster_of(data_dir).data) in process.info["cmdline"]
        }
        # A session that was started in this moment has no name of its own yet.
        assert len([parent for parent in servers.values() if parent not in servers]) == 1
        for user in users:
            leave(user)
    assert not running(data_dir)


def test_a_killed_user_does_not_keep_the_server_running(data_dir: Path) -> None:
    with EmbeddedServer(data_dir):
        with used_elsewhere(data_dir) as killed:
            killed.kill()
            killed.wait()
        assert running(data_dir)
        assert not stop_if_unused(data_dir)
    assert not running(data_dir)


def test_what_a_killed_process_left_is_cleaned(data_dir: Path) -> None:
    with used_elsewhere(data_dir) as killed:
        killed.kill()
        killed.wait()
    assert running(data_dir)
    assert stop_if_unused(data_dir)
    assert not running(data_dir)
    assert not stop_if_unused(data_dir)


def test_cleaning_where_nothing_ever_ran_makes_nothing(tmp_path: Path) -> None:
    assert not stop_if_unused(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_the_next_one_takes_over_what_a_killed_process_left_and_stops_it(data_dir: Path) -> None:
    with used_elsewhere(data_dir) as killed:
        killed.kill()
        killed.wait()
    pid = cluster.server_pid(cluster_of(data_dir))
    with EmbeddedServer(data_dir):
        assert cluster.server_pid(cluster_of(data_dir)) == pid
    assert not running(data_dir)


def test_a_server_that_was_killed_itself_starts_again_with_what_was_committed(data_dir: Path) -> None:
    settings = Settings.load(data_dir=data_dir)
    with EmbeddedServer(data_dir) as server, Store.open(settings) as store:
        number = store.create_campaign(name="x", kind="k", testbed="bench", plan={}, plan_text="", plan_sha256="", trials=[a_trial(1)])
        kill(server)
        with pytest.raises(StoreError, match=r"trial 1 of campaign \d+ could not be started: .*\(its server was killed\)"):
            store.start_trial(number, 1)
    with Store.open(settings) as store:
        assert [record.trial for record in store.campaign(number).trials] == [a_trial(1)]


def test_a_process_number_that_another_program_has_now_is_not_taken_for_the_server(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        pid_file = server.cluster.data / "postmaster.pid"
        lines = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]))
    assert not running(data_dir)
    with EmbeddedServer(data_dir):
        assert running(data_dir)


def test_what_was_being_made_when_the_process_was_killed_is_made_anew(tmp_path: Path) -> None:
    unfinished = cluster_of(tmp_path).data.with_suffix(".new")
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("half")
    with EmbeddedServer(tmp_path):
        assert running(tmp_path)
    assert not unfinished.exists()


def test_ctrl_c_in_the_terminal_does_not_reach_the_server(data_dir: Path) -> None:
    """A terminal sends SIGINT to the whole foreground group: the user's process ends, the server does not know of it."""
    with used_elsewhere(data_dir) as user, EmbeddedServer(data_dir) as server:
        pid = cluster.server_pid(server.cluster)
        assert pid is not None
        assert os.getsid(pid) == pid
        assert os.getpgid(pid) != os.getpgid(user.pid)
        os.killpg(user.pid, signal.SIGINT)
        assert user.wait(timeout=120) != 0
        assert running(data_dir)


def test_others_cannot_reach_the_socket(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        folder = server.cluster.socket_dir
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / ".s.PGSQL.5432").stat().st_mode) == 0o700
        pid = cluster.server_pid(server.cluster)
        assert pid is not None
        connections = [connection for connection in psutil.Process(pid).net_connections("inet")]  # noqa: C416
        assert connections == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_somebody_else_is_refused_at_the_socket(data_dir: Path) -> None:
    opened = [folder for folder in data_dir.parents if folder.stat().st_uid == 0 and not folder.stat().st_mode & stat.S_IXOTH]
    modes = {folder: folder.stat().st_mode for folder in opened}
    somebody = pwd.getpwnam("nobody").pw_uid
    try:
        for folder in (data_dir, *opened):
            folder.chmod(0o755)  # so that it is the socket's own folder that refuses
        with EmbeddedServer(data_dir) as server:
            path = server.cluster.socket_dir / ".s.PGSQL.5432"
            server.cluster.folder.chmod(0o755)
            assert connect_as(somebody, path) == "PermissionError"
            assert connect_as(0, path) == "connected"
    finally:
        for folder, mode in modes.items():
            folder.chmod(stat.S_IMODE(mode))


def connect_as(uid: int, path: Path) -> str:
    """What a process of that user gets who connects to the socket."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        import socket

        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(path))
            os.write(write, b"connected")
        except OSError as error:
            os.write(write, type(error).__name__.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


def test_the_root_of_a_user_namespace_shares_the_server_of_the_same_user(data_dir: Path) -> None:
    with used_elsewhere(data_dir, as_root_of_namespace([])) as inside:
        assert running(data_dir)
        with Store.open(Settings.load(data_dir=data_dir)) as store:
            assert store.campaigns() == []
        assert running(data_dir)
        leave(inside)
    assert not running(data_dir)


def test_a_long_path_gets_a_short_socket(tmp_path: Path) -> None:
    data_dir = tmp_path / ("long" * 30)
    with EmbeddedServer(data_dir) as server:
        assert len(str(server.cluster.socket_dir)) < 60
        assert stat.S_IMODE(server.cluster.socket_dir.stat().st_mode) == 0o700
        with Store.open(Settings.load(data_dir=data_dir)) as store:
            assert store.campaigns() == []


@pytest.mark.parametrize("in_the_way", ["data", "data/postgres"])
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, in_the_way: str) -> None:
    path = tmp_path / in_the_way
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    with pytest.raises(StoreError, match=r"set RACKPROOF_DATA_DIR"), EmbeddedServer(tmp_path / "data"):
        pass


def test_a_server_that_cannot_start_says_why(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        control = server.cluster.data / "global" / "pg_control"
    control.write_bytes(b"\0" * control.stat().st_size)
    for _ in range(2):  # the turn was given back: the second one does not wait for the first
        with (
            pytest.raises(StoreError, match=r"did not start in .*: .*FATAL: .*incompatible with server .*PG_CONTROL_VERSION"),
            EmbeddedServer(data_dir),
        ):
            pass


FILLS_THE_DISK = """
import os, sys
from pathlib import Path
from sqlalchemy import text
from rackproof.errors import StoreError
from rackproof.settings import Settings
from rackproof.store import Store
from tests.conftest import a_trial
from tests.integration.store.test_store import a_result
folder = Path(sys.argv[1])
settings = Settings.load(data_dir=folder)
plan = {"text": "x"}
saved = 0
filler = folder / "filler"
try:
    with Store.open(settings) as store:
        # The server's log has room of its own: it is the data that finds none.
        with store.transactions.step("another file of the log") as connection:
            connection.execute(text("SELECT pg_switch_wal()"))
        trials = [a_trial(index) for index in range(1, 2001)]
        number = store.create_campaign(name="n", kind="k", testbed="b", plan=plan, plan_text="", plan_sha256="", trials=trials)
        free = os.statvfs(folder)
        filler.write_bytes(b"x" * (free.f_bavail * free.f_frsize - 1_000_000))
        for index in range(1, 2001):
            store.save_result(number, index, a_result(500))
            saved = index
except StoreError as error:
    print(error)
filler.unlink()
with Store.open(settings) as store:
    record = store.campaign(number)
results = [trial.result for trial in record.trials if trial.result is not None]
print(saved, len(results), all(result == a_result(500) for result in results))
"""


def test_a_full_disk_is_said_with_the_trial_and_nothing_finished_is_lost(tmp_path: Path) -> None:
    command = small_disk(tmp_path, "120m", [sys.executable, "-c", FILLS_THE_DISK, str(tmp_path)])
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=process_environment())
    assert done.returncode == 0, done.stderr
    said, left = done.stdout.splitlines()
    assert said.startswith("the result of trial ")
    assert said.endswith("the disk of the database is full; free some space there")
    saved, kept, whole = left.split()
    assert int(saved) > 0
    assert int(kept) in {int(saved), int(saved) + 1}  # the last may have been committed when the answer was lost
    assert whole == "True"
