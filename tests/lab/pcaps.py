"""Capture files for tests, made of columns, so that large ones take no time."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

_RECORD = np.dtype([("seconds", "<u4"), ("fraction", "<u4"), ("captured", "<u4"), ("original", "<u4")])


def capture(
    at_ns: npt.NDArray[np.int64],
    *,
    source: int,
    destination: int,
    octets: npt.NDArray[np.int64],
    identification: npt.NDArray[np.int64],
    number: npt.NDArray[np.int64],
    ports: tuple[int, int] = (40000, 5201),
    protocol: int = 6,
    snap: int = 138,
) -> bytes:
    """TCP or UDP packets over Ethernet; number: what tells them apart: the sequence number of TCP, the first payload of UDP."""
    count = len(at_ns)
    frame = np.zeros((count, 16 + snap), np.uint8)
    records = frame[:, :16].copy().view(_RECORD)[:, 0]
    records["seconds"], records["fraction"] = at_ns // 10**9, at_ns % 10**9
    records["captured"], records["original"] = np.minimum(octets + 14, snap), octets + 14
    frame[:, :16] = records.view(np.uint8).reshape(count, 16)

    def put(at: int, values: npt.NDArray[np.int64] | int, size: int) -> None:
        column = np.broadcast_to(np.asarray(values, np.int64), (count,))
        for byte in range(size):
            frame[:, at + byte] = (column >> (8 * (size - 1 - byte))) & 255

    put(28, 0x0800, 2)
    put(30, 0x45, 1)
    put(32, octets, 2)
    put(34, identification, 2)
    put(38, 64, 1)
    put(39, protocol, 1)
    put(42, source, 4)
    put(46, destination, 4)
    put(50, ports[0], 2)
    put(52, ports[1], 2)
    put(54 if protocol == 6 else 58, number, 4)
    mask = np.arange(16 + snap) < (16 + records["captured"])[:, None]
    header = np.array([0xA1B23C4D, 0x00040002, 0, 0, snap, 1], "<u4").tobytes()
    return header + frame[mask].tobytes()


def written(path: Path, file: bytes) -> npt.NDArray[np.uint8]:
    """A capture as a file, and as it is read."""
    path.write_bytes(file)
    return np.fromfile(path, np.uint8)
