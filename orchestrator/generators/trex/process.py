"""The client's process: it speaks to a TRex server for the process that started it, one request at a time, and reads counters in between.

When the other end of the channel closes, whatever the reason, traffic is stopped, the ports are given back and this process ends. Where it
is killed itself, the server ends the traffic: every start has a duration.
"""

import os
import signal
import socket
import sys
import traceback
from contextlib import suppress
from typing import Any

from orchestrator.bench.channel import Channel, Closed
from orchestrator.generators.trex.client import Client
from orchestrator.generators.trex.messages import Told
from rackproof.errors import GeneratorError

#: How long it waits for a request at a time where there is nothing else to do.
IDLE_S = 60.0


def main() -> None:
    """Serve the channel whose file descriptor is the first argument."""
    channel = Channel(socket.socket(fileno=int(sys.argv[1])))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the campaign's process decides, and closes the channel
    served = _Served(channel)
    with suppress(Closed):
        served.serve()
    served.close()
    os._exit(0)  # threads of the client may still wait for a server that is gone


class _Served:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._client: Client | None = None
        self._result: Told | Exception | None = None
        self._awaited = False

    def serve(self) -> None:
        """Until the other end is gone. Raises Closed."""
        while True:
            if self._channel.readable(self._idle_s()):
                (name, arguments), _ = self._channel.receive()
                self._answer(name, arguments)
            elif self._client is not None:
                try:
                    self._result = self._client.step() or self._result
                except Exception as error:  # noqa: BLE001 - raised again in the other process
                    self._result = error
                    self._client.forget()
            if self._awaited and self._result is not None:
                self._awaited = False
                self._reply(self._result)
                self._result = None

    def _idle_s(self) -> float:
        return IDLE_S if self._client is None else min(IDLE_S, self._client.due_in())

    def _answer(self, name: str, arguments: dict[str, Any]) -> None:
        """A collect is answered when the run is over, everything else at once."""
        if name == "collect":
            self._awaited = True
            return
        try:
            if name == "open":
                self._client = Client(arguments["where"])
                result: Any = self._client.open()
            else:
                result = getattr(self._client, name)(**arguments)
        except Exception as error:  # noqa: BLE001 - raised again in the other process
            result = error
        self._reply(result)

    def _reply(self, result: Any) -> None:
        if isinstance(result, Exception):
            known = isinstance(result, GeneratorError)
            text = str(result) if known else "".join(traceback.format_exception(result))
            self._channel.send(("error", text))
        else:
            self._channel.send(("result", result))

    def close(self) -> None:
        """Stop traffic and give the ports back."""
        if self._client is not None:
            self._client.close()


if __name__ == "__main__":
    main()
