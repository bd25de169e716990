"""A schema check for what the driver says to a server of the Open Traffic Generator API. It is no generator: it sends no frame.

Every request is parsed by the API's own protocol buffers, which refuse what the API does not have, and by snappi's rules (bounds,
patterns). Answers are built of the same. The counters that it tells are those that a test gives it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import snappi  # type: ignore[import-untyped]
from google.protobuf import json_format  # type: ignore[import-untyped]
from snappi import otg_pb2

#: Path -> what comes in, what goes out.
_PATHS: dict[tuple[str, str], tuple[str, str]] = {
    ("GET", "/capabilities/version"): ("", "Version"),
    ("POST", "/config"): ("Config", "Warning"),
    ("POST", "/control/state"): ("ControlState", "Warning"),
    ("POST", "/monitor/metrics"): ("MetricsRequest", "MetricsResponse"),
}

Answer = dict[str, Any]


@dataclass
class SchemaServer:
    """asked: what came in, in order, as (path, plain data). metrics: what it tells of flows, by call. refusal: what it answers instead."""

    address: str
    metrics: Callable[[list[str]], list[Answer]] = lambda names: [{"name": name, "transmit": "stopped"} for name in names]
    refusal: tuple[str, int, bytes] | None = None
    delays_s: dict[str, float] = field(default_factory=dict)
    asked: list[tuple[str, Answer]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def config(self) -> Answer:
        """The last configuration with flows that came in."""
        return [asked for path, asked in self.asked if path == "/config" and asked.get("flows")][-1]

    @property
    def states(self) -> list[str]:
        return [asked["traffic"]["flow_transmit"]["state"] for path, asked in self.asked if path == "/control/state"]

    def answered(self, path: str, asked: Answer) -> Answer:
        if path == "/capabilities/version":
            return {"api_spec_version": "1.62.0", "sdk_version": "1.62.0", "app_version": "schema check"}
        if path != "/monitor/metrics":
            return {}
        if asked["choice"] == "port":
            ports = [config for kind, config in self.asked if kind == "/config"][-1].get("ports", [])
            told = [{"name": port["name"], "link": "up", "speed": 10_000_000_000} for port in ports]
            return {"choice": "port_metrics", "port_metrics": told}
        return {"choice": "flow_metrics", "flow_metrics": self.metrics(asked["flow"].get("flow_names", []))}


@contextmanager
def schema_server() -> Iterator[SchemaServer]:
    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            server.released.wait(server.delays_s.get(self.path, 0.0))
            if server.refusal and server.refusal[0] == self.path:
                return self._answer(server.refusal[1], server.refusal[2])
            incoming, outgoing = _PATHS[self.command, self.path]
            asked: Answer = {}
            if incoming:
                try:
                    asked = _checked(incoming, body.decode())
                except Exception as error:  # noqa: BLE001 - told to the driver, which must never cause it
                    return self._answer(400, _error(str(error)))
            server.asked.append((self.path, asked))
            told = server.answered(self.path, asked)
            return self._answer(200, json_format.MessageToJson(_message(outgoing, told), preserving_proto_field_name=True).encode())

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            with suppress(BrokenPipeError):  # whoever asked did not wait
                self.end_headers()
                self.wfile.write(body)

        do_GET = do_POST = _serve  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = SchemaServer(address=f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            http.shutdown()
            thread.join()


def _checked(name: str, text: str) -> Answer:
    message = json_format.Parse(text, getattr(otg_pb2, name)())
    getattr(snappi, name)().deserialize(text)
    plain: Answer = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return plain


def _message(name: str, plain: Answer) -> Any:
    return json_format.ParseDict(plain, getattr(otg_pb2, name)())


def _error(text: str) -> bytes:
    told: str = json_format.MessageToJson(_message("Error", {"code": 400, "errors": [text]}))
    return told.encode()
