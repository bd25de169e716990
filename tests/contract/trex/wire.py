"""What a TRex server and its client said to each other: recorded between the two, or answered again from a recording.

    python -m tests.contract.trex.wire record HOST:PORT FILE
    python -m tests.contract.trex.wire replay FILE

Both print the port that a client connects to (the publisher is one below) and serve until their standard input ends. A recording holds
answers of a real server only: its version and the day are in the file. Replaying changes nothing in them but the numbers that a client
makes up anew each time (requests, counters, its session). Counters are answered as they were so long after the
start of the traffic.
"""

import importlib
import json
import struct
import sys
import threading
import time
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

_ZIPPED = struct.Struct(">II")
_MAGIC = 0xABE85CEA
_Json = dict[str, Any]


def main() -> None:
    """See the module."""
    importlib.import_module("lbr_trex_client")
    importlib.import_module("trex.stl.api")  # brings the client's own zmq
    zmq: Any = importlib.import_module("zmq")
    context = zmq.Context()
    rep, pub = context.socket(zmq.REP), context.socket(zmq.PUB)
    port = _bind(rep, pub, zmq)
    mode, *arguments = sys.argv[1:]
    answers: Any = Recorder(zmq, context, *arguments) if mode == "record" else Replayer(json.loads(Path(arguments[0]).read_text()))
    print(port, flush=True)
    threading.Thread(target=_serve, args=(rep, pub, answers), daemon=True).start()
    sys.stdin.read()
    if mode == "record":
        Path(arguments[1]).write_text(answers.text())
    sys.stdout.flush()
    importlib.import_module("os")._exit(0)  # the thread waits for requests for ever


def _bind(rep: Any, pub: Any, zmq: Any) -> int:
    for port in range(24_501, 24_701, 2):
        try:
            rep.bind(f"tcp://127.0.0.1:{port}")
            pub.bind(f"tcp://127.0.0.1:{port - 1}")
        except zmq.ZMQError:
            continue
        return port
    raise OSError("no free pair of ports")


def _serve(rep: Any, pub: Any, answers: Any) -> None:
    while True:
        request = _json(rep.recv())
        reply = [answers.answer(each) for each in request] if isinstance(request, list) else answers.answer(request)
        rep.send(json.dumps(reply).encode())
        pub.send(b"{}")  # there may be events: the client asks for them


def _json(message: bytes) -> Any:
    if len(message) >= _ZIPPED.size and _ZIPPED.unpack(message[: _ZIPPED.size])[0] == _MAGIC:
        message = zlib.decompress(message[_ZIPPED.size :])
    return json.loads(message)


class Recorder:
    """Asks the real server, and keeps what was said."""

    def __init__(self, zmq: Any, context: Any, address: str, _file: str) -> None:
        self._socket = context.socket(zmq.REQ)
        self._socket.connect(f"tcp://{address}")
        self._exchanges: list[_Json] = []
        self._version: _Json = {}

    def answer(self, request: _Json) -> _Json:
        self._socket.send(json.dumps(request).encode())
        reply: _Json = _json(self._socket.recv())
        if request["method"] == "get_version":
            self._version = reply["result"]
        self._exchanges.append({"at": round(time.monotonic(), 4), "request": request, "reply": reply})
        return reply

    def text(self) -> str:
        """The recording, one exchange a line."""
        head = {"recorded from": self._version, "on": time.strftime("%Y-%m-%d")}
        lines = ",\n".join(json.dumps(exchange, separators=(",", ":")) for exchange in self._exchanges)
        return f'{{"about":{json.dumps(head)},\n"exchanges":[\n{lines}\n]}}\n'


class Replayer:
    """Answers from a recording: for each method and port in the order of then, counters by the time since the traffic began."""

    def __init__(self, recording: _Json) -> None:
        self._left: dict[tuple[str, Any], list[_Json]] = defaultdict(list)
        self._last: dict[tuple[str, Any], _Json] = {}
        self._counters: list[tuple[float, _Json]] = []
        self._told: dict[tuple[str, Any], float] = defaultdict(float)
        self._session_then = self._session_now = 0
        self._started = 0.0
        began = 0.0
        for exchange in recording["exchanges"]:
            method = exchange["request"]["method"]
            if method == "start_traffic":
                began = exchange["at"]
            if method == "acquire":
                self._session_then = exchange["request"]["params"]["session_id"]
            if method == "get_pgid_stats" and began and exchange["request"]["params"]["pgids"]:
                self._counters.append((exchange["at"] - began, exchange))
            else:
                self._left[_key(exchange["request"])].append(exchange)

    def answer(self, request: _Json) -> _Json:
        if request["method"] == "start_traffic":
            self._started = time.monotonic()
        if request["method"] == "acquire":
            self._session_now = request["params"]["session_id"]
        if request["method"] == "get_pgid_stats" and self._started and request["params"]["pgids"]:
            since = time.monotonic() - self._started
            return _renamed(min(self._counters, key=lambda then: abs(then[0] - since))[1], request)
        key = _key(request)
        if self._left[key]:
            self._last[key] = self._left[key].pop(0)
        if key not in self._last:
            error = {"code": -32000, "message": f"{request['method']} was not recorded"}
            return {"jsonrpc": "2.0", "id": request["id"], "error": error}
        reply = self._last[key]["reply"]
        if request["method"] == "get_pgid_stats":
            return _renamed(self._last[key], request)
        if request["method"] == "get_async_events":
            events = [] if self._told[key] == self._last[key]["at"] else reply["result"]["data"]  # no event comes twice
            self._told[key] = self._last[key]["at"]
            reply = {**reply, "result": {**reply["result"], "data": [self._ours(event) for event in events]}}
        return {**reply, "id": request["id"]}

    def _ours(self, event: _Json) -> _Json:
        """Whoever had a port then has it now."""
        if event["data"] and event["data"].get("session_id") == self._session_then:
            return {**event, "data": {**event["data"], "session_id": self._session_now}}
        return event


def _renamed(exchange: _Json, request: _Json) -> _Json:
    """Counters under the numbers that they are asked for by."""
    then, now = (map(str, each["params"]["pgids"]) for each in (exchange["request"], request))
    names = dict(zip(then, now, strict=False))
    result = {
        part: {names.get(name, name): value for name, value in (content or {}).items()}
        for part, content in exchange["reply"]["result"].items()
    }
    return {**exchange["reply"], "result": result, "id": request["id"]}


def _key(request: _Json) -> tuple[str, Any]:
    return request["method"], request["params"].get("port_id", request["params"].get("user"))


if __name__ == "__main__":
    main()
