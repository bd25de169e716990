"""How this process gets the right to make network namespaces: as root, or as the root of a user namespace of its own.

Imported before anything that starts threads: a process with several threads may not enter a user namespace.
"""

import ctypes
import os
from contextlib import suppress
from pathlib import Path

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

_libc = ctypes.CDLL(None, use_errno=True)

#: (file, value that forbids, what to say). Each was read from the kernel's and Ubuntu's documentation.
_SETTINGS = (
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor forbids user namespaces to ordinary programs (kernel.apparmor_restrict_unprivileged_userns = 1, the default of "
        "Ubuntu 24.04). Remedy: run as root, or `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "user namespaces are forbidden to ordinary users (kernel.unprivileged_userns_clone = 0). "
        "Remedy: run as root, or `sudo sysctl -w kernel.unprivileged_userns_clone=1`",
    ),
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "no user namespaces are allowed (user.max_user_namespaces = 0). "
        "Remedy: run as root, or `sudo sysctl -w user.max_user_namespaces=15000`",
    ),
    (
        "/proc/sys/user/max_net_namespaces",
        "0",
        "no network namespaces are allowed (user.max_net_namespaces = 0). Remedy: `sudo sysctl -w user.max_net_namespaces=15000`",
    ),
)


class Forbidden(Exception):
    """This system lets this user make no network namespace; the message says which setting does so, and the remedy."""


def unshare(flags: int) -> None:
    """Leave the namespaces that the flags name for new ones (see clone(2)). Raises OSError."""
    if _libc.unshare(flags) != 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno))


def setns(fd: int) -> None:
    """Enter the network namespace behind fd, this thread only. Raises OSError."""
    if _libc.setns(fd, CLONE_NEWNET) != 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno))


def acquire() -> str:
    """Get the right, and leave the host's network for an empty one; "root" or "user namespace". Raises Forbidden."""
    with suppress(OSError):
        unshare(CLONE_NEWNET)
        return "root"
    uid, gid = os.getuid(), os.getgid()
    try:
        unshare(CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
        unshare(CLONE_NEWNET)
    except OSError as error:
        raise Forbidden(why_forbidden(error)) from error
    return "user namespace"


def why_forbidden(error: OSError | None = None) -> str:
    """Which setting forbids namespaces here, with its remedy; a guess that says it is one where no known setting does."""
    for path, forbids, text in _SETTINGS:
        with suppress(OSError):
            if Path(path).read_text().strip() == forbids:
                return text
    found = f" ({error.strerror})" if error is not None else ""
    return (
        f"the kernel refused a network namespace{found}, and no setting known to Rackproof says why; in a container, its seccomp profile "
        "may. Remedy: run as root with CAP_SYS_ADMIN and CAP_NET_ADMIN"
    )
