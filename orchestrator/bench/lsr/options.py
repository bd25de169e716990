"""What a soft-lsr is like: how long its control plane takes, what forwards, and which defects it has."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from rackproof.errors import DeviceError


class Forwarding(StrEnum):
    """What forwards labelled frames: XDP where it is allowed and the native engine elsewhere, or one of the two."""

    AUTO = "auto"
    XDP = "xdp"
    NATIVE = "native"


class Drop(StrEnum):
    """Which message is dropped where the queue has no room: the newest, or the oldest."""

    TAIL = "tail"
    HEAD = "head"


def _number(default: float, *, most: float | None = None, defect: bool = False) -> Any:
    return field(default=default, metadata={"most": most, "defect": defect})


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """Service times are means [us]. A defect is off where it is 0 or False; see docs/soft_lsr.md for each."""

    path_us: float = _number(2000.0)
    resv_us: float = _number(12000.0)
    tear_us: float = _number(1000.0)
    jitter: float = _number(0.05, most=1.0)
    queue: int = 4096
    drop: Drop = Drop.TAIL
    forwarding: Forwarding = Forwarding.AUTO
    drop_tears: float = _number(0.0, most=1.0, defect=True)
    stale_label: bool = field(default=False, metadata={"defect": True})
    early_resv_ms: float = _number(0.0, defect=True)
    wrong_label: float = _number(0.0, most=1.0, defect=True)
    ignore_router_alert: bool = field(default=False, metadata={"defect": True})
    steal_us: float = _number(0.0, defect=True)
    memory_fps: float = _number(0.0, defect=True)
    seed: int = field(default=0, metadata={"hidden": True})

    @property
    def drop_head(self) -> bool:
        """As the engine asks for it."""
        return self.drop is Drop.HEAD

    @property
    def user_space(self) -> bool:
        """Whether a defect needs frames to pass the native engine."""
        return self.steal_us > 0 or self.memory_fps > 0

    @property
    def defects(self) -> Mapping[str, float | bool]:
        """Those that are switched on."""
        return {each.name: value for each in fields(self) if each.metadata.get("defect") and (value := getattr(self, each.name))}


NAMES = frozenset(each.name for each in fields(Options) if not each.metadata.get("hidden"))


def checked(device: str, given: Mapping[str, float | int | bool | str]) -> Options:
    """What a plan gives, checked; the device's name seeds it. Raises DeviceError."""
    if unknown := sorted(set(given) - NAMES):
        raise DeviceError(f"{device}: expected options of soft-lsr ({', '.join(sorted(NAMES))}), found {', '.join(unknown)}")
    types = {each.name: each for each in fields(Options)}
    values = {name: _value(device, name, value, types[name].default, types[name].metadata.get("most")) for name, value in given.items()}
    made = Options(**values, seed=zlib.crc32(device.encode()))
    if made.user_space and made.forwarding is Forwarding.XDP:
        raise DeviceError(f"{device}: expected forwarding: native or auto with steal_us and memory_fps, found xdp")
    return made


def _value(device: str, name: str, value: float | bool | str, default: object, most: float | None) -> Any:
    match default:
        case StrEnum():
            if value not in list(type(default)):
                raise DeviceError(f"{device}: {name}: expected {' or '.join(type(default))}, found {value!r}")
            return type(default)(value)
        case bool():
            if not isinstance(value, bool):
                raise DeviceError(f"{device}: {name}: expected true or false, found {value!r}")
            return value
        case _:
            if isinstance(value, bool | str) or not 0 <= value <= (most if most is not None else 1e9):
                raise DeviceError(f"{device}: {name}: expected a number from 0 on{f' to {most:g}' if most else ''}, found {value!r}")
            return int(value) if isinstance(default, int) else float(value)
