"""The bench's process: it holds the namespaces, devices and engine, and does what the campaign's process asks, one request at a time.

When the other end of the channel closes, whatever the reason, this process ends, and with it everything that it built.
"""

import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.bench.channel import Channel, Closed
from orchestrator.bench.cpus import NICE
from orchestrator.bench.privileges import Forbidden, acquire


def main() -> None:
    """Serve the channel whose file descriptor is the first argument."""
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the campaign's process decides, and closes the channel
    claim_processors()
    try:
        rights = acquire()
    except Forbidden as error:
        channel.send(("refused", str(error)))
        return
    # Only now: what comes from here may start threads, and threads may not enter a user namespace.
    from orchestrator.bench.services import Services

    try:
        services = Services(rights)
    except Exception as error:  # noqa: BLE001 - told to the other process
        channel.send(("refused", f"the bench cannot start: {error}"))
        return
    channel.send(("ready", rights))
    try:
        serve(channel, services)
    except Closed:
        pass
    finally:
        # Native threads may still be spinning and there is nothing to hand over: the kernel cleans up better than we can.
        os._exit(0)


def claim_processors() -> None:
    """Ask for the engine's threads what the system grants."""
    # Where the kernel groups tasks by session (autogroup), niceness counts within the session only: the session needs its own.
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(NICE))


def serve(channel: Channel, services: Any) -> None:
    """Do what is asked, a method of services by name, until the other end is gone (Closed)."""
    while True:
        (name, arguments), _ = channel.receive()
        method: Callable[..., Any] = getattr(services, name)
        try:
            result = method(**arguments)
        except Exception as error:  # noqa: BLE001 - raised again in the other process
            known = type(error).__module__ == "rackproof.errors"
            channel.send(("error", error if known else RuntimeError("".join(traceback.format_exception(error)))))
            continue
        fd = getattr(result, "fd", None)
        channel.send(("result", result), (fd,) if isinstance(fd, int) else ())
        if isinstance(fd, int):
            os.close(fd)


if __name__ == "__main__":
    main()
