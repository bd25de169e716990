"""The process of the native generator on real ports: it holds the ports and the engine, and does what the campaign's process asks.

It ends when the other end of the channel closes, and on SIGTERM, by which another process takes the ports over; before it ends it stops
traffic and gives the ports back as they were.
"""

import os
import signal
import socket
import sys
from contextlib import suppress
from typing import NoReturn

from orchestrator.bench.channel import Channel, Closed
from orchestrator.bench.process import claim_processors, serve
from orchestrator.generators.native.services import PortServices
from rackproof.errors import GeneratorError


class _TakenOver(BaseException):
    """Somebody else wants the ports."""


def main() -> None:
    """Serve the channel whose file descriptor is the first argument."""
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the campaign's process decides, and closes the channel
    claim_processors()
    services = PortServices()
    try:
        signal.signal(signal.SIGTERM, _give_up)
        channel.send(("ready", ""))
        serve(channel, services)
    except Closed:
        pass
    except _TakenOver:
        with suppress(Closed):
            channel.send(("error", GeneratorError("the generator's ports were taken over by another process; its traffic was stopped")))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        services.close()
        # Native threads may still be spinning and there is nothing to hand over: the kernel cleans up better than we can.
        os._exit(0)


def _give_up(*_: object) -> NoReturn:
    raise _TakenOver


if __name__ == "__main__":
    main()
