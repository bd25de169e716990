"""What is made ready before `rackproof up` watches over its processes? The folder, the socket, the database, and words for people."""

import fcntl
import os
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import rackproof
from rackproof.cli.serving import listen
from rackproof.errors import RackproofError
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.embedded import EmbeddedServer
from rackproof.supervisor import SOCKET_FD, MemberPlan, Tree, out_of_the_way

#: The worker stops traffic and restores devices when it ends.
_API_GRACE_S, _WORKER_GRACE_S = 8.0, 45.0
_EVERYWHERE = {"0.0.0.0", "::", ""}  # noqa: S104 - compared with, not listened on


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """What was asked of `rackproof up`."""

    host: str
    port: int
    testbeds: tuple[str, ...]
    name: str | None
    certificate: Path | None
    key: Path | None


def become_supervisor(wish: Wish) -> None:
    """Make everything ready and become the supervisor; does not return. Raises RackproofError, LabError."""
    settings = Settings.load()
    lock = _alone(settings.data_dir)
    listening = listen(wish.host, wish.port)
    address = _address(wish, listening)
    _write(lock, f"process {os.getpid()} since {datetime.now().astimezone():%d %B %H:%M}, {address}")
    environment = dict(os.environ)
    share = None
    if settings.database_url is None:
        with EmbeddedServer(settings.data_dir) as server:
            code = _setup_code(settings)
            environment["RACKPROOF_DATABASE_URL"] = server.url
            share = out_of_the_way(server.hand_over())
    else:
        code = _setup_code(settings)
    on_terminal = sys.stderr.isatty()
    logs = settings.data_dir / "logs"
    tree = Tree(
        members=_members(wish, out_of_the_way(listening)),
        environment=environment,
        data_dir=str(settings.data_dir),
        share=share,
        keep=(lock,),
        logs=str(logs) if on_terminal else None,
        ready=f"ready: {address}",
    )
    if on_terminal:
        _greet(settings, wish, address, logs)
    if code is not None:
        _explain(code, address, on_terminal)
    _become(tree)


def _members(wish: Wish, listening: int) -> tuple[MemberPlan, ...]:
    tls = [word for name, path in (("--tls-certificate", wish.certificate), ("--tls-key", wish.key)) if path for word in (name, str(path))]
    testbeds = [word for testbed in wish.testbeds for word in ("--testbed", testbed)] or ["--no-testbed"]
    name = wish.name or socket.gethostname()
    me = this_command()
    return (
        MemberPlan(
            name="the API",
            command=(*me, "serve", "--fd", str(SOCKET_FD), *tls),
            grace_s=_API_GRACE_S,
            socket=listening,
            says_ready=True,
        ),
        MemberPlan(name="the worker", command=(*me, "worker", "--name", name, *testbeds), grace_s=_WORKER_GRACE_S),
    )


def this_command() -> list[str]:
    """How this program was started, without the command and its options: its other commands are started the same way."""
    words = sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1]
    return [sys.executable, *words[1:]]


def _alone(data_dir: Path) -> int:
    """Keep others from running with the same folder, as long as the file descriptor that this returns is open. Raises RackproofError."""
    path = data_dir / "up.lock"
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = out_of_the_way(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise RackproofError(
            f"{path} cannot be opened ({error.strerror}): give its folder to this user, or set RACKPROOF_DATA_DIR"
        ) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = path.read_text().strip() or "another process"
        raise RackproofError(f"Rackproof is up already with {data_dir}: {who}") from None
    return lock


def _write(lock: int, text: str) -> None:
    with suppress(OSError):  # a full disk; the words are for people, the lock itself holds
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{text}\n".encode(), 0)


def _setup_code(settings: Settings) -> str | None:
    """The code for the first account, where there is none yet; on the way the schema is brought up to date."""
    with Store.open(settings) as store:
        return store.accounts.setup_code()


def _address(wish: Wish, listening: int) -> str:
    with socket.socket(fileno=os.dup(listening)) as found:
        port = found.getsockname()[1]
    host = socket.gethostname() if wish.host in _EVERYWHERE else wish.host
    return f"{'https' if wish.certificate else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def _greet(settings: Settings, wish: Wish, address: str, logs: Path) -> None:
    from rich.console import Console

    database = "its own, in the data folder" if settings.database_url is None else "as RACKPROOF_DATABASE_URL says"
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(f"[bold]Rackproof {rackproof.__version__}[/]   [bold blue]{address}[/]")
    for name, value in (
        ("data", settings.data_dir),
        ("database", database),
        ("testbeds", ", ".join(wish.testbeds) or "none"),
        ("logs", logs),
    ):
        console.print(f"  [dim]{name:9}[/] {value}", markup=True)
    console.print("  [dim]Ctrl-C ends it; what was measured stays, and campaigns go on at the next start.[/]")


def _explain(code: str, address: str, on_terminal: bool) -> None:
    """How the first account is made. Said to a person, or in the logs of whoever started the service, and nowhere else."""
    from rackproof.record import Record

    lines = [
        f"There is no account yet. Make the first one, an admin, at {address}/setup within a day, with the code",
        f"  {code}",
        "or on this machine with",
        "  rackproof users add YOU --role admin",
    ]
    if on_terminal:
        print("\n" + "\n".join(lines) + "\n", file=sys.stderr, flush=True)
    else:
        Record(None).say(" ".join(line.strip() for line in lines))


def _become(tree: Tree) -> None:
    """Replace this program, which has imported a lot, by one that needs little."""
    fd = os.memfd_create("rackproof-tree", 0)
    os.write(fd, tree.to_json().encode())
    os.lseek(fd, 0, os.SEEK_SET)
    for kept in (fd, tree.share, *tree.keep, *(member.socket for member in tree.members)):
        if kept is not None:
            os.set_inheritable(kept, True)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "rackproof.supervisor", str(fd)])  # noqa: S606
