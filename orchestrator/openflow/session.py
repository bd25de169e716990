"""A controller's end of one OpenFlow 1.3 connection: what is sent is answered, refused in the switch's words, or given up in time."""

import itertools
import socket
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from orchestrator.openflow import messages
from orchestrator.openflow.messages import Message
from rackproof.errors import DeviceError

#: How many messages are under way between two barriers.
AT_ONCE = 500
#: How many errors are quoted.
QUOTED_MAX = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where the switch is. listen: it comes to this TCP port of this machine; None: it waits for us at address and port.

    tls: what secures the connection, None: nothing does. timeout_s bounds every wait.
    """

    address: str
    port: int
    listen: int | None = None
    tls: ssl.SSLContext | None = None
    timeout_s: float = 10.0


class Session:
    """A context manager: connected, greeted and its features known from entering on; leaving hangs up. Raises DeviceError."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._numbers = itertools.count(1)
        self._socket: socket.socket | None = None
        self._kept = b""
        self.features: Message = None

    def __enter__(self) -> Self:
        try:
            self._socket = self._connected()
            self._greet()
            self.features = self.ask(messages.features())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def ask(self, request: Message) -> Message:
        """The answer to a request."""
        return self._answers(request)[0]

    def all_of(self, request: Message) -> list[Message]:
        """All that a multipart request is answered with, its parts put together."""
        return [each for part in self._answers(request) for each in part.body]

    def tell(self, told: Sequence[tuple[Message, str]]) -> None:
        """Send messages that are not answered, each with its words, and wait until all are done. Raises DeviceError with the refusals."""
        refused: list[str] = []
        for start in range(0, len(told), AT_ONCE):
            under_way = {}
            for message, text in told[start : start + AT_ONCE]:
                under_way[self._send(message)] = text
            number, end = self._send(messages.barrier()), self._end()
            while (answer := self._receive(end)).xid != number:
                if messages.is_a(answer, "OFPErrorMsg"):
                    refused.append(f"{messages.words(answer)}: {under_way.get(answer.xid, 'an earlier message')}")
        if refused:
            more = [f"and {len(refused) - QUOTED_MAX} more"] if len(refused) > QUOTED_MAX else []
            raise DeviceError("\n".join(["the switch refuses:", *refused[:QUOTED_MAX], *more]))

    def _answers(self, request: Message) -> list[Message]:
        number, end = self._send(request), self._end()
        found = []
        while True:
            answer = self._receive(end)
            if answer.xid != number:
                continue
            if messages.is_a(answer, "OFPErrorMsg"):
                raise DeviceError(f"the switch refuses {type(request).__name__}: {messages.words(answer)}")
            found.append(answer)
            if not messages.is_a(answer, "OFPMultipartReply") or not messages.goes_on(answer):
                return found

    def _connected(self) -> socket.socket:
        place = self._place
        try:
            plain = self._awaited() if place.listen is not None else socket.create_connection((place.address, place.port), place.timeout_s)
        except OSError as error:
            where = f"at {place.address}, port {place.port}" if place.listen is None else f"on port {place.listen} of this machine"
            raise DeviceError(f"no OpenFlow connection {where}: {error}") from error
        plain.settimeout(place.timeout_s)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if place.tls is None:
            return plain
        try:
            return place.tls.wrap_socket(plain, server_side=place.listen is not None)
        except (ssl.SSLError, OSError) as error:
            plain.close()
            raise DeviceError(f"no TLS with {place.address}: {error}") from error

    def _awaited(self) -> socket.socket:
        """The connection of the switch itself; whoever else comes is sent away."""
        known = {where[4][0] for where in socket.getaddrinfo(self._place.address, None)}
        end = self._end()
        with socket.create_server(("", self._place.listen or 0)) as server:
            while True:
                server.settimeout(max(0.01, end - time.monotonic()))
                connection, (address, *_) = server.accept()
                if address in known:
                    return connection
                connection.close()

    def _greet(self) -> None:
        self._send(messages.hello())
        answer = self._receive(self._end())
        if messages.is_a(answer, "OFPErrorMsg"):
            raise DeviceError(f"the switch does not speak OpenFlow 1.3: {messages.words(answer)}")
        if not messages.is_a(answer, "OFPHello") or answer.version < messages.VERSION:
            raise DeviceError(f"expected OpenFlow 1.3 (version 4), the switch offers version {answer.version}")

    def _send(self, message: Message) -> int:
        number = next(self._numbers)
        self._write(messages.octets(message, number))
        return number

    def _write(self, data: bytes) -> None:
        assert self._socket is not None, "entered"
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise DeviceError(f"the OpenFlow connection is lost: {error}") from error

    def _receive(self, end: float) -> Message:
        """The next message that is not an echo. Raises DeviceError when none has come by `end`."""
        while True:
            header = self._exactly(messages.HEADER_BYTES, end)
            message = messages.received(header + self._exactly(messages.length(header) - messages.HEADER_BYTES, end))
            if not messages.is_a(message, "OFPEchoRequest"):
                return message
            reply = messages.echo_reply(message)
            self._write(messages.octets(reply, message.xid))

    def _exactly(self, count: int, end: float) -> bytes:
        assert self._socket is not None, "entered"
        while len(self._kept) < count:
            left_s = end - time.monotonic()
            try:
                if left_s <= 0:
                    raise TimeoutError
                self._socket.settimeout(left_s)
                found = self._socket.recv(1 << 16)
            except TimeoutError:
                raise DeviceError(f"the switch did not answer within {self._place.timeout_s:g} s") from None
            except OSError as error:
                raise DeviceError(f"the OpenFlow connection is lost: {error}") from error
            if not found:
                raise DeviceError("the switch closed the OpenFlow connection")
            self._kept += found
        data, self._kept = self._kept[:count], self._kept[count:]
        return data

    def _end(self) -> float:
        return time.monotonic() + self._place.timeout_s
