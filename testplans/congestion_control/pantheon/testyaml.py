"""Pantheon's description of a test (the file of `test.py -c`) as a plan of ours; what cannot be mapped is refused, with its line.

Keys are test.py's options, with - or _. The path is mahimahi's: traces (a constant rate, such as 12mbps.trace, or one of the box), and
shells around or within the link that delay and lose packets.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rackproof.errors import PlanError, Problem
from rackproof.planfile import PlanFile, dotted
from testplans.congestion_control.pantheon.names import scheme_id
from testplans.congestion_control.path import traces

KIND = "congestion-control"
Place = tuple[str | int, ...]

_CONSTANT = re.compile(r"(\d+(?:\.\d+)?)mbps")
_TRACES = {"uplink-trace": "forward", "downlink-trace": "backward"}
_COMMANDS = ("prepend-mm-cmds", "append-mm-cmds")
_LINK = "extra-mm-link-args"
_QUEUE = re.compile(r"--(up|down)link-queue(-args)?=(.*)")
_SIDES = {"up": "forward", "down": "backward", "uplink": "forward", "downlink": "backward"}
_BOUNDS = {"packets": "buffer_packets", "bytes": "buffer_bytes"}
#: Keys whose values are taken as they are: Pantheon's -> ours, and what is expected there.
_PLAIN: Mapping[str, tuple[str, str, Callable[[Any], bool]]] = {
    "test-name": ("name", "a name", lambda value: isinstance(value, str) and bool(value)),
    "runtime": ("runtime_s", "seconds", lambda value: _is_number(value) and value > 0),
    "interval": ("flow_interval_s", "seconds", lambda value: _is_number(value) and value >= 0),
    "run-times": ("repetitions", "a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
}
_KEYS = ("mode", "schemes", "flows", "random-order", *_PLAIN, *_TRACES, *_COMMANDS, _LINK)


def is_test(file: PlanFile) -> bool:
    """Whether a file is Pantheon's: it names a test, and no kind of plan."""
    return "kind" not in file.data and any(key in file.data for key in ("test-name", "test_name"))


def as_plan(file: PlanFile) -> PlanFile:
    """The same file as a plan of ours, whose keys keep the lines that they come from. Raises PlanError with every problem."""
    reading = _Reading(file)
    reading.all()
    if reading.problems:
        raise PlanError(file.source, sorted(reading.problems, key=lambda problem: problem.line or 0))
    return replace(file, data=reading.data, lines=reading.lines)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass
class _Reading:
    """One file while it is mapped; data, lines and problems fill."""

    file: PlanFile
    data: dict[str, Any] = field(default_factory=lambda: {"kind": KIND, "order": "plan"})
    lines: dict[Place, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    path: dict[str, dict[str, Any]] = field(default_factory=lambda: {side: {"delay_ms": 0.0} for side in ("forward", "backward")})

    def all(self) -> None:
        for key, value in self.file.data.items():
            name = str(key).replace("_", "-")
            match name:
                case "mode" if value != "local":
                    self.refuse((key,), "local: a test between two hosts needs a testbed that has them", value)
                case "mode":
                    pass
                case "schemes":
                    self.schemes(key, value)
                case "flows":
                    self.flows(key, value)
                case "random-order" if not isinstance(value, bool):
                    self.refuse((key,), "true or false", value)
                case "random-order":
                    self.put((key,), "order", "shuffled" if value else "plan")
                case _ if name in _PLAIN:
                    ours, expected, fits = _PLAIN[name]
                    if fits(value):
                        self.put((key,), ours, float(value) if ours.endswith("_s") else value)
                    else:
                        self.refuse((key,), expected, value)
                case _ if name in _TRACES:
                    self.trace(key, _TRACES[name], value)
                case _ if name in _COMMANDS:
                    self.shells(key, value)
                case _ if name == _LINK:
                    self.link(key, value)
                case _:
                    self.refuse((key,), f"one of {', '.join(_KEYS)}", f"the unknown key {key}")
        self.complete()

    def complete(self) -> None:
        """What must be there, and Pantheon's own defaults for what need not."""
        for ours, theirs in (("name", "test-name"), ("schemes", "schemes, or flows with a scheme each")):
            if ours not in self.data and not (ours == "schemes" and "mixes" in self.data) and not self.problems:
                self.refuse((theirs.split(",")[0],), theirs, None)
        for side, part in self.path.items():
            if "rate_mbps" not in part and "trace" not in part:
                part["rate_mbps"] = 12.0
            self.lines.setdefault(("path", side), 1)
        self.data["path"] = self.path
        self.data.setdefault("repetitions", 1)

    def schemes(self, key: str, value: object) -> None:
        names = value.split() if isinstance(value, str) else value
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            self.refuse((key,), "names of schemes", value)
            return
        self.put((key,), "schemes", [scheme_id(name) for name in names])

    def flows(self, key: str, value: object) -> None:
        if isinstance(value, int) and not isinstance(value, bool):
            self.put((key,), "flows", value)
            return
        if not isinstance(value, list) or not value:
            self.refuse((key,), "how many flows, or a list of them with a scheme each", value)
            return
        named = []
        for at, flow in enumerate(value):
            if not isinstance(flow, dict) or set(flow) != {"scheme"} or not isinstance(flow["scheme"], str):
                self.refuse((key, at), "scheme: NAME", flow)
                return
            named.append(scheme_id(flow["scheme"]))
        if len(set(named)) == 1:
            self.put((key,), "schemes", named[:1])
            self.put((key,), "flows", len(named))
        else:
            self.put((key,), "mixes", [named])

    def trace(self, key: str, side: str, value: object) -> None:
        name = value.rsplit("/", 1)[-1].removesuffix(".trace") if isinstance(value, str) else ""
        self.lines["path", side] = self.line((key,)) or 1
        if found := _CONSTANT.fullmatch(name):
            self.path[side]["rate_mbps"] = float(found[1])
        elif name in traces():
            self.path[side]["trace"] = name
        else:
            self.refuse((key,), f"a constant rate (12mbps.trace) or a trace of the box ({', '.join(traces())})", value)

    def shells(self, key: str, value: object) -> None:
        """mm-delay MS, mm-loss uplink|downlink SHARE, one after the other, each around the next."""
        words = self.words(key, value)
        while words:
            match words:
                case ["mm-delay", delay, *rest] if _decimal(delay) is not None:
                    for part in self.path.values():
                        part["delay_ms"] += _decimal(delay)
                    words = rest
                case ["mm-loss", ("uplink" | "downlink") as side, share, *rest] if _decimal(share) is not None:
                    before = self.path[_SIDES[side]].get("loss_share", 0.0)
                    self.path[_SIDES[side]]["loss_share"] = 1 - (1 - before) * (1 - (_decimal(share) or 0.0))
                    words = rest
                case _:
                    self.refuse((key,), "mm-delay MS, or mm-loss uplink SHARE or downlink SHARE", " ".join(words))
                    return

    def link(self, key: str, value: object) -> None:
        for word in self.words(key, value):
            found = _QUEUE.fullmatch(word)
            if found is None or (found[2] is None and found[3] not in ("droptail", "infinite")):
                self.refuse((key,), "--uplink-queue=droptail, --uplink-queue-args=packets=N or bytes=N, and the same for downlink", word)
            elif found[2] is not None:
                self.bounds(key, _SIDES[found[1]], found[3])

    def bounds(self, key: str, side: str, text: str) -> None:
        for item in text.strip("\"'").split(","):
            name, _, number = item.strip().partition("=")
            if name not in _BOUNDS or not number.isdecimal():
                self.refuse((key,), "packets=N or bytes=N", item)
            else:
                self.path[side][_BOUNDS[name]] = int(number)

    def words(self, key: str, value: object) -> list[str]:
        try:
            if isinstance(value, str):
                return shlex.split(value)
        except ValueError:
            pass
        self.refuse((key,), "a command line", value)
        return []

    def put(self, place: Place, ours: str, value: Any) -> None:
        if ours in self.data and ours != "order":
            self.refuse(place, f"{ours} once", "twice")
        self.data[ours] = value
        for path in self._below(ours, value):
            self.lines[path] = self.line(place) or 1

    def refuse(self, place: Place, expected: str, found: object) -> None:
        shown = "nothing" if found is None else str(found)[:100]
        self.problems.append(Problem(where=dotted(place), expected=expected, found=shown, line=self.line(place)))

    def line(self, place: Place) -> int | None:
        return self.file.line_of(place)

    @staticmethod
    def _below(ours: str, value: object) -> Iterator[Place]:
        yield (ours,)
        if isinstance(value, list):
            for at, _ in enumerate(value):
                yield (ours, at)


def _decimal(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(?:\.\d+)?", text) else None
