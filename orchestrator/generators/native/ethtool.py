"""What an interface's driver says of itself and lets be set, by the kernel's ethtool calls."""

import array
import fcntl
import socket
import struct
from collections.abc import Iterable, Mapping
from contextlib import closing

from pyroute2.ethtool.ioctl import EthtoolError, IoctlEthtool

from rackproof.errors import GeneratorError

_SIOCETHTOOL = 0x8946
_GDRVINFO = 0x03
_DRVINFO = struct.Struct("=I32s32s32s32s32s12s5I")
#: Either says that the speed is not known: of links that are down, and of many that are virtual.
_UNKNOWN = (0xFFFF, 0xFFFFFFFF)


def features(name: str, wanted: Iterable[str]) -> dict[str, bool]:
    """Those of the wanted features that the interface lets be switched, and whether they are on. Raises GeneratorError."""
    try:
        with closing(IoctlEthtool(name)) as tool:
            found = tool.get_features()
            return {feature: bool(found.is_active(feature)) for feature in wanted if feature in found and found.is_available(feature)}
    except (OSError, EthtoolError) as error:
        raise GeneratorError(f"{name}: the interface's features cannot be read: {error}") from error


def set_features(name: str, wanted: Mapping[str, bool]) -> None:
    """Switch features of an interface. Raises GeneratorError."""
    try:
        with closing(IoctlEthtool(name)) as tool:
            found = tool.get_features()
            for feature, on in wanted.items():
                if found.is_active(feature) != on:
                    found[feature] = on
            tool.set_features(found)
    except (OSError, EthtoolError) as error:
        raise GeneratorError(f"{name}: the interface's features cannot be set ({', '.join(wanted)}): {error}") from error


def speed_mbps(name: str) -> float:
    """What the link runs at [Mbit/s]; 0 where the driver does not say."""
    try:
        with closing(IoctlEthtool(name)) as tool:
            settings = tool.get_cmd()
    except (OSError, EthtoolError):
        return 0.0
    speed = settings.speed | settings.speed_hi << 16
    return 0.0 if speed in _UNKNOWN else float(speed)


def described(name: str) -> str:
    """Driver, its version, firmware, and the bus address: "ixgbe 6.1.0, firmware 0x800, 0000:01:00.0"."""
    told = array.array("B", _DRVINFO.pack(_GDRVINFO, *[b""] * 6, *[0] * 5))
    request = struct.pack("16sP16x", name.encode(), told.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            fcntl.ioctl(sock, _SIOCETHTOOL, request)
        except OSError:
            return "its driver says nothing of itself"
    driver, version, firmware, bus = (part.partition(b"\0")[0].decode(errors="replace") for part in _DRVINFO.unpack(told)[1:5])
    return ", ".join(
        part for part in (f"{driver} {version}".strip(), f"firmware {firmware}" if firmware not in ("", "N/A") else "", bus) if part
    )
