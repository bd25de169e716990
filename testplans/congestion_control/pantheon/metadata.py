"""What was run, and when? Pantheon's metadata of a set of runs, and the statistics file of each run."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rackproof.errors import FileError, Problem

FILE = "pantheon_metadata.json"
#: A key of ours that Pantheon does not look at: name of a test of mixed flows -> the scheme of each flow.
MIXED = "mixed_tests"
#: What an import writes down about the directory itself, beside Pantheon's own facts.
OWN_FACTS = ("directory", "path", "start_run_id")
_LOG = re.compile(r"(?P<name>.+?)(?:_mm)?_(?:datalink|acklink|stats)_run(?P<run>\d+)\.log")
_MOMENT = "%Y-%m-%d %H:%M:%S"
_LINE = re.compile(r"(Start at|End at|Local clock offset|Remote clock offset): *(.+?)(?: ms)?\s*")
_FLOW_AT_END = re.compile(rb"^\S+ (?:\+ \d+|- \d+ \S+) (\d+)$", re.MULTILINE)
_PEEK_BYTES = 1 << 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Metadata:
    """A set of runs. schemes: Pantheon's names, in its order; mixed: names of tests with a scheme for each flow -> these schemes.

    flows: of each test that is not mixed. first_run: the number of the first run. path: its words for the report; facts: everything that
    stands in the file beside, by name.
    """

    schemes: tuple[str, ...]
    mixed: Mapping[str, tuple[str, ...]]
    runs: int
    first_run: int
    runtime_s: float
    flows: int
    interval_s: float
    path: str
    facts: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stats:
    """When a run began and ended, and the offsets of the clocks [ms]; None where the file does not say."""

    start: datetime | None = None
    end: datetime | None = None
    local_offset_ms: float | None = None
    remote_offset_ms: float | None = None


def read_metadata(folder: Path) -> Metadata:
    """The metadata of a folder; where there is none, what its files' names, times and logs tell. Raises FileError, OSError."""
    path = folder / FILE
    if not path.exists():
        return _guessed(folder)
    try:
        found = json.loads(path.read_bytes())
    except ValueError as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise FileError(str(path), Problem(where="file", expected="JSON", found=str(error), line=line)) from None
    if not isinstance(found, dict):
        raise _refusal(path, "file", "an object", found)
    return _metadata(_Source(path, found))


def read_stats(path: Path) -> Stats:
    """The statistics file of a run; nothing is known where there is none. Lines that are not understood are passed over."""
    if not path.exists():
        return Stats()
    lines = map(_LINE.fullmatch, path.read_text(errors="replace").splitlines())
    known = {str(found[1]): str(found[2]) for found in lines if found}
    return Stats(
        start=_moment(known.get("Start at")),
        end=_moment(known.get("End at")),
        local_offset_ms=_number(known.get("Local clock offset")),
        remote_offset_ms=_number(known.get("Remote clock offset")),
    )


def write_stats(stats: Stats) -> str:
    """The text of a statistics file."""
    lines = [f"{what} at: {moment.strftime(_MOMENT)}" for what, moment in (("Start", stats.start), ("End", stats.end)) if moment]
    offsets = (("Local", stats.local_offset_ms), ("Remote", stats.remote_offset_ms))
    lines += [f"{side} clock offset: {offset:g} ms" for side, offset in offsets if offset is not None]
    return "".join(f"{line}\n" for line in lines)


class _Source:
    """A file's values, each asked for with its type."""

    def __init__(self, path: Path, values: Mapping[str, Any]) -> None:
        self.path, self.values = path, values

    def whole(self, key: str, least: int, default: int | None = None) -> int:
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise _refusal(self.path, key, f"a whole number of at least {least}", value)
        return value

    def seconds(self, key: str, least: float, default: float | None = None) -> float:
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < math.inf:
            raise _refusal(self.path, key, f"at least {least:g} seconds", value)
        return float(value)

    def names(self, key: str) -> tuple[str, ...]:
        value = self.values.get(key)
        names = value.split() if isinstance(value, str) else value
        if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
            raise _refusal(self.path, key, "names of schemes", value)
        return tuple(dict.fromkeys(_file_name(self.path, key, name) for name in names))


def _metadata(source: _Source) -> Metadata:
    values = source.values
    mixed = _mixed(source)
    schemes = tuple(name for name in source.names("cc_schemes") if name not in mixed) if "test_config" not in values else ()
    known = {"cc_schemes", "run_times", "start_run_id", "runtime", "flows", "interval", "test_config", MIXED}
    return Metadata(
        schemes=schemes,
        mixed=mixed,
        runs=source.whole("run_times", 1),
        first_run=source.whole("start_run_id", 1, default=1),
        runtime_s=source.seconds("runtime", 1),
        # Without a tunnel Pantheon says 0: there is one flow all the same.
        flows=max(source.whole("flows", 0, default=1), 1),
        interval_s=source.seconds("interval", 0, default=0),
        path=_path(values),
        facts={key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items() if key not in known},
    )


def _mixed(source: _Source) -> dict[str, tuple[str, ...]]:
    """Tests of mixed flows: what Pantheon's own description of a test says, or what an export of ours does."""
    config, ours = source.values.get("test_config"), source.values.get(MIXED, {})
    if isinstance(config, dict):
        flows = config.get("flows")
        of_flows = [flow.get("scheme") for flow in flows if isinstance(flow, dict)] if isinstance(flows, list) else []
        return {_file_name(source.path, "test_config.test-name", config.get("test-name")): _flow_schemes(source.path, of_flows)}
    if not isinstance(ours, dict):
        raise _refusal(source.path, MIXED, "names of tests with their schemes", ours)
    return {_file_name(source.path, MIXED, name): _flow_schemes(source.path, flows) for name, flows in ours.items()}


def _flow_schemes(path: Path, schemes: object) -> tuple[str, ...]:
    if not isinstance(schemes, list) or not schemes or not all(isinstance(scheme, str) and scheme for scheme in schemes):
        raise _refusal(path, "flows", "a scheme for each flow", schemes)
    return tuple(schemes)


def _file_name(path: Path, where: str, name: object) -> str:
    """A name that begins names of files."""
    if not isinstance(name, str) or not name or "/" in name or name.startswith("."):
        raise _refusal(path, where, "a name that files can have", name)
    return name


def _path(values: Mapping[str, Any]) -> str:
    if values.get("mode") == "remote":
        ends = {side: " ".join(str(values[key]) for key in (f"{side}_desc", f"{side}_if") if key in values) for side in ("local", "remote")}
        shown = {side: f"{words} ({side})" if words else side for side, words in ends.items()}
        first, second = ("remote", "local") if values.get("sender_side") == "remote" else ("local", "remote")
        return f"{shown[first]} to {shown[second]}"
    words = [str(values[key]) for key in ("prepend_mm_cmds",) if key in values]
    words += ["mm-link", *(str(values[key]) for key in ("uplink_trace", "downlink_trace", "extra_mm_link_args") if key in values)]
    words += [str(values[key]) for key in ("append_mm_cmds",) if key in values]
    return " ".join(words) if "uplink_trace" in values else "a path of which nothing is known"


def _guessed(folder: Path) -> Metadata:
    found: dict[str, set[int]] = {}
    for path in sorted(folder.iterdir()):
        if name := _LOG.fullmatch(path.name):
            found.setdefault(name["name"], set()).add(int(name["run"]))
    if not found:
        expected = f"{FILE}, or logs such as cubic_datalink_run1.log"
        raise FileError(str(folder), Problem(where="directory", expected=expected, found="neither"))
    stats = [read_stats(folder / f"{name}_stats_run{run}.log") for name, runs in found.items() for run in runs]
    spans = [(each.end - each.start).total_seconds() for each in stats if each.start and each.end]
    if not spans or max(spans) < 1:
        raise FileError(str(folder), Problem(where="directory", expected=f"{FILE}, or statistics with start and end", found="neither"))
    first = min(min(runs) for runs in found.values())
    logs = (folder / f"{name}_datalink_run{run}.log" for name, runs in found.items() for run in runs)
    return Metadata(
        schemes=tuple(found),
        mixed={},
        runs=max(max(runs) for runs in found.values()) - first + 1,
        first_run=first,
        runtime_s=max(spans),
        flows=_flows(logs),
        interval_s=0.0,
        path="a path of which nothing is known",
        facts={"metadata": f"{FILE} is not there; runs, runtime and flows are what the files tell"},
    )


def _flows(logs: Iterable[Path]) -> int:
    """The highest flow in the last lines of any log: at the end all flows run."""
    most = 1
    for path in logs:
        if path.exists():
            with path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - _PEEK_BYTES))
                most = max([most, *(int(flow) for flow in _FLOW_AT_END.findall(file.read()))])
    return most


def _moment(text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.strptime(text, _MOMENT).replace(tzinfo=UTC)
    except ValueError:
        return None


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _refusal(path: Path, where: str, expected: str, found: object) -> FileError:
    return FileError(str(path), Problem(where=where, expected=expected, found="nothing" if found is None else repr(found)[:80]))
