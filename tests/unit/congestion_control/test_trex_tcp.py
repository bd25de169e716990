"""How a side of TRex's own TCP is set up, without a TRex."""

import os

import pytest
from ruamel.yaml import YAML

from testplans.congestion_control.schemes.programs import trex_tcp


@pytest.mark.parametrize(("sends", "interfaces"), [(True, ["eth0", "dummy"]), (False, ["dummy", "eth0"])])
def test_clients_are_at_the_first_port_and_servers_at_the_second(sends: bool, interfaces: list[str]) -> None:
    (config,) = YAML(typ="safe").load(trex_tcp._config("eth0", "10.82.1.1", "10.82.1.2", 4600, 4601, sends=sends))
    assert [each.rpartition("iface=")[2].partition(",")[0] for each in config["interfaces"]] == interfaces
    assert config["port_info"] == [{"src_mac": "02:52:0a:52:01:01", "dest_mac": "02:52:0a:52:01:02"}] * 2
    assert (config["zmq_rpc_port"], config["zmq_pub_port"]) == (4600, 4601)
    assert config["low_end_core"] in os.sched_getaffinity(0)


def test_an_address_that_no_interface_has_is_told() -> None:
    with pytest.raises(SystemExit, match=r"expected one interface with the address 192\.0\.2\.77, found none"):
        trex_tcp._interface("192.0.2.77")


def test_the_interface_of_an_address_is_found() -> None:
    assert trex_tcp._interface("127.0.0.1") == "lo"
