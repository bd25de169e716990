"""A forwarding element in XDP: programs on all ports of a namespace, and their maps kept as the tables say."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from rackproof_native import Xdp

from orchestrator.bench import links
from orchestrator.bench.namespaces import Namespace
from orchestrator.bench.xpfe import layout
from orchestrator.bench.xpfe.tables import Compiler, Numbers, Tables, own
from rackproof.errors import DeviceError
from rackproof.model.xcf import ForwardingElement

OBJECT = Path(__file__).with_name("xpfe.bpf.o")

#: From the end of the pipeline to its beginning: what an entry leads to is there before it.
_BACK_TO_FRONT = ("element", "sets", "routes", "tenants", "policers", "access_rules", "services", "attached", "ports")


class XdpElement:
    """Forwards from its making on until it is closed."""

    def __init__(self, *, name: str, namespace: Namespace, ports: Iterable[str]) -> None:
        """Load the programs and attach them; without tables they drop everything. Raises OSError."""
        self._name = name
        self._xdp = Xdp(_object(), netns_fd=namespace.fd)
        interfaces = {port: links.index(namespace, port) for port in ports}
        self._counters = Numbers(len(layout.REASONS), layout.COUNTERS_MAX)
        self._sets = Numbers(1, layout.SETS_MAX)
        self._compiler = Compiler(interfaces=interfaces, counters=self._counters, sets=self._sets, pop_fd=self._xdp.program_fd("pop"))
        self._made: set[str] = set()
        self._now = Tables(maps={})
        self._element: ForwardingElement | None = None
        for port in interfaces:
            self._xdp.attach("xpfe", port)

    @staticmethod
    def facts() -> Mapping[str, str]:
        """What forwards."""
        return {"forwarding": "XDP (generic)"}

    def apply(self, element: ForwardingElement) -> None:
        """Bring the maps to what the tables say, entry by entry; what stays is not touched. Raises DeviceError."""
        try:
            self._apply(element)
        except (OSError, OverflowError) as error:
            raise DeviceError(f"{self._name}: the tables cannot be written: {error}") from error
        self._element = element

    def check(self, element: ForwardingElement) -> None:
        """Read every map back from the kernel. Raises DeviceError with the first difference."""
        if element != self._element:
            raise DeviceError(f"{self._name}: it has other tables")
        for name, wanted in self._now.maps.items():
            there = self._read(name)
            if name.startswith("sets/"):  # the kernel tells the number of a program, not its descriptor
                there = {key: wanted.get(key, value) for key, value in there.items()}
            if there != wanted:
                raise DeviceError(f"{self._name}: map {name} should have {len(wanted)} entries; it has {len(there)}, or other ones")

    def counters(self) -> Mapping[str, int]:
        """Frames dropped by reason, OAM frames, and frames and octets of every entry."""
        names = list(self._counters.names)
        numbers = [*range(len(layout.REASONS)), *(self._counters.names[name] for name in names)]
        values = self._xdp.lookup("counters", [layout.number(number) for number in numbers])
        counted = [layout.counts(value or b"") for value in values]
        reasons = dict(zip(layout.REASONS, (frames for frames, _ in counted), strict=False))
        result = dict(reasons)
        for name, (frames, octets) in zip(names, counted[len(layout.REASONS) :], strict=True):
            if name.endswith(".exceeded"):
                result[name] = frames
            else:
                result[f"{name}.frames"] = frames
                result[f"{name}.octets"] = octets
        return result

    def close(self) -> None:
        """Take the programs off the ports."""
        del self._xdp

    def _apply(self, element: ForwardingElement) -> None:
        known = set(self._counters.names)
        wanted = self._compiler.tables(element)
        self._zero(sorted(wanted.counters - known))
        before = self._now.maps
        self._make(wanted.maps.keys() - self._made)
        for name in sorted(wanted.maps, key=_place):
            there = before.get(name, {})
            self._xdp.update(name, [(key, value) for key, value in wanted.maps[name].items() if there.get(key) != value])
        for name in sorted(before, key=_place, reverse=True):
            self._xdp.delete(name, [key for key in before[name] if key not in wanted.maps.get(name, {})])
        self._counters.keep(wanted.counters)
        self._sets.keep(wanted.sets)
        self._now = wanted

    def _make(self, names: Iterable[str]) -> None:
        """Make the maps within maps that are not there yet; they stay."""
        missing: dict[str, list[int]] = {}
        for name in names:
            outer, _, index = name.partition("/")
            if index:
                missing.setdefault(outer, []).append(int(index))
                self._made.add(name)
        for outer, indices in missing.items():
            kind = layout.INNER[outer]
            self._xdp.add_maps(
                outer,
                indices,
                map_type=kind.map_type,
                key_bytes=kind.key_bytes,
                value_bytes=kind.value_bytes,
                entries=kind.entries,
                flags=kind.flags,
            )

    def _read(self, name: str) -> dict[bytes, bytes]:
        keys = self._xdp.keys(name)
        values = self._xdp.lookup(name, keys)
        return {key: layout.without_state(name, value) for key, value in zip(keys, values, strict=True) if value is not None}

    def _zero(self, names: list[str]) -> None:
        if not names:
            return
        keys = [layout.number(self._counters(name)) for name in names]
        (size,) = {len(value) for value in self._xdp.lookup("counters", keys[:1]) if value is not None}
        self._xdp.update("counters", [(key, bytes(size)) for key in keys])


@cache
def _object() -> bytes:
    return OBJECT.read_bytes()


def _place(name: str) -> tuple[int, bool, str]:
    """Where a map comes in the order of changes: t,1 after the other tables of a tenant."""
    outer, _, index = name.partition("/")
    first = outer == "tenants" and name == own(int(index) // layout.TABLES, 1)
    return _BACK_TO_FRONT.index(outer), first, name
