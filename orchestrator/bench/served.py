"""A process of ours that does what it is asked over a channel, one request at a time, as the campaign's process sees it.

It ends with the channel, whatever the reason, so that nothing that it holds outlives whoever asked for it.
"""

import contextlib
import os
import select
import subprocess
import sys
from typing import Any

from orchestrator.bench.channel import Channel, Closed, spawned
from orchestrator.interruption import Interruption
from rackproof.errors import LabError, TrialTimeout

#: A request that is not about traffic; building a topology of 60 links takes about a second.
REQUEST_S = 30.0
END_S = 5.0


class Served:
    """The process that runs a module with one end of the channel. name: what errors call it; loss: what its end takes with it.

    An interruption ends every wait for time to pass. end_s: what the process may take to end.
    """

    def __init__(
        self, *, module: str, name: str, loss: str, error: type[LabError], interruption: Interruption | None, end_s: float = END_S
    ) -> None:
        self._module = module
        self._name = name
        self._loss = loss
        self._error = error
        self._interruption = interruption
        self._end_s = end_s
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None

    def start(self, timeout_s: float) -> tuple[str, str]:
        """Start it; its first message, which says whether it is ready. Raises LabError."""
        path = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path}
        self._process, self._channel = spawned(self._module, environment=environment)
        try:
            kind, text = self._reply(timeout_s)
        except BaseException:
            self.close()
            raise
        return kind, text

    def close(self) -> None:
        """End it, and with it all that it holds."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            try:
                self._process.wait(self._end_s)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    @property
    def pid(self) -> int | None:
        """Its process id, None where it does not run."""
        return None if self._process is None else self._process.pid

    @property
    def running(self) -> bool:
        """True while it is there, as far as is known."""
        return self._channel is not None

    def request(self, name: str, timeout_s: float = REQUEST_S, **arguments: Any) -> Any:
        """Ask for something. Raises what it raised, and LabError where it is gone or silent."""
        result, fds = self.request_with_files(name, timeout_s, **arguments)
        for fd in fds:
            os.close(fd)
        return result

    def request_with_files(self, name: str, timeout_s: float = REQUEST_S, **arguments: Any) -> tuple[Any, list[int]]:
        """As request, with the files that came along; the caller closes them."""
        try:
            self._open_channel.send((name, arguments))
        except Closed:
            raise self._ended() from None
        kind, result, *fds = self._reply(timeout_s)
        if kind == "error":
            raise result
        return result, fds

    def wait_or_fail(self, seconds: float) -> None:
        """Let time pass while it works. Raises LabError when it is gone, Stopped when somebody wants an end."""
        channel = self._open_channel
        if self._interruption is None or self._interruption.shields:
            gone = channel.readable(max(0.0, seconds))
        else:
            self._interruption.check()
            sources: list[Any] = [channel, self._interruption]
            gone = channel in select.select(sources, [], [], max(0.0, seconds))[0]
            self._interruption.check()
        if gone:
            raise self._unasked()

    @property
    def _open_channel(self) -> Channel:
        if self._channel is None:
            raise self._error(f"{self._name} is not running")
        return self._channel

    def _reply(self, timeout_s: float) -> tuple[Any, ...]:
        if not self._open_channel.readable(timeout_s):
            # A late answer would be taken for that to the next request.
            self.close()
            raise TrialTimeout(f"{self._name} did not answer within {timeout_s:g} s and was ended; {self._loss}")
        try:
            (kind, result), fds = self._open_channel.receive()
        except Closed:
            raise self._ended() from None
        return (kind, result, *fds)

    def _unasked(self) -> LabError:
        """Why it says something that nobody asked for: it gives up, or is gone."""
        with contextlib.suppress(Closed):
            (_, message), _ = self._open_channel.receive()
            if isinstance(message, LabError):
                self.close()
                return message
        return self._ended()

    def _ended(self) -> LabError:
        status = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = self._process.wait(self._end_s)
        self.close()
        return self._error(f"{self._name} ended unexpectedly (exit status {status}); {self._loss}")
