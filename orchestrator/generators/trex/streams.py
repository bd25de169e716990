"""From bursts to streams as the client knows them."""

import base64
import importlib
from typing import Any

from orchestrator.generators.trex.running import Running


class Streams:
    """Makes them, with the client's interface (trex.stl.api)."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self._packet = _packets(importlib.import_module("trex.stl.trex_stl_packet_builder_interface").CTrexPktBuilderInterface)

    def by_port(self, running: Running) -> dict[int, list[Any]]:
        """The streams of a run by the port that sends them."""
        api, counters = self._api, iter(running.counters)
        by_port: dict[int, list[Any]] = {}
        for burst in running.run.bursts:
            stream = api.STLStream(
                packet=self._packet(burst.packet),
                mode=api.STLTXSingleBurst(pps=burst.fps, total_pkts=burst.frames),
                isg=burst.after_us,
                flow_stats=api.STLFlowLatencyStats(pg_id=next(counters)) if burst.counted else None,
                mac_src_override_by_pkt=True,
                mac_dst_override_mode=api.STLStreamDstMAC_PKT,
            )
            by_port.setdefault(burst.tx_port, []).append(stream)
        return by_port


def _packets(interface: Any) -> Any:
    """The class of a packet that is sent as it is, where the client wants a builder of packets."""

    class Packet(interface):  # type: ignore[misc]
        def __init__(self, octets: bytes) -> None:
            self._octets = octets

        def compile(self) -> None:
            pass

        def to_json(self) -> dict[str, Any]:
            return {"packet": {"binary": base64.b64encode(self._octets).decode(), "meta": ""}, "vm": {"instructions": []}}

    return Packet
