"""Emulated switches: the lines that each platform's templates use, and a small configuration to begin with."""

import json

from tests.integration.playbooks.switch import Rule, Switch

_NXOS = (
    Rule("", r"hostname \S+", "hostname"),
    Rule("", r"class-map type qos match-all \S+", enters="class-map"),
    Rule("class-map", r"match cos \d", "match"),
    Rule("", r"policy-map type (qos|queuing) \S+", enters="policy-map"),
    Rule("policy-map", r"class (type queuing )?\S+", enters="class"),
    Rule("class", r"set qos-group \d", "group"),
    Rule("class", r"bandwidth remaining percent \d+|priority level [1-7]", "share"),
    Rule("", r"interface \S+", enters="interface"),
    Rule("interface", r"service-policy type (queuing output|qos input) \S+", r"service-policy \1"),
    Rule("interface", r"switchport mode access", "mode", default=True),
    Rule("interface", r"switchport mode trunk", "mode"),
    Rule("interface", r"switchport (trunk allowed|access) vlan \d+", r"\1"),
    Rule("", r"vlan \d+", enters="vlan"),
    Rule("vlan", r"name \S+", "name"),
)
_IOS = (
    Rule("", r"hostname \S+", "hostname"),
    Rule("", r"class-map match-any \S+", enters="class-map"),
    Rule("class-map", r"match cos( +\d)+", "match"),
    Rule("", r"policy-map \S+", enters="policy-map"),
    Rule("policy-map", r"class \S+", enters="class"),
    Rule("class", r"bandwidth remaining ratio \d+|priority level [12]", "share"),
    Rule("", r"interface \S+", enters="interface"),
    Rule("interface", r"service-policy output \S+", "service-policy"),
    Rule("interface", r"switchport mode (access|trunk)", "mode"),
    Rule("interface", r"switchport (trunk allowed|access) vlan \d+", r"\1"),
    Rule("", r"vlan \d+", enters="vlan"),
)
_EOS = (
    Rule("", r"hostname \S+", "hostname"),
    Rule("", r"qos map cos (\d) to traffic-class \d", r"cos \1"),
    Rule("", r"qos map traffic-class (\d) to tx-queue \1", default=True),
    Rule("", r"interface \S+", enters="interface"),
    Rule("interface", r"tx-queue \d", enters="queue"),
    Rule("queue", r"priority strict", "priority", default=True),
    Rule("queue", r"no priority", "priority"),
    Rule("queue", r"bandwidth percent \d+", "bandwidth"),
    Rule("interface", r"switchport", "routed", default=True),
    Rule("interface", r"no switchport", "routed"),
    Rule("interface", r"switchport mode (access|trunk)", "mode"),
    Rule("interface", r"switchport (trunk allowed|access) vlan \d+", r"\1"),
    Rule("", r"vlan \d+", enters="vlan"),
)


def nxos() -> Switch:
    """Ethernet1/3 has a queuing policy of somebody else's."""
    return Switch(
        rules=_NXOS,
        indent=2,
        header="!Command: show running-config\n!Time: now\n",
        running=(
            "hostname dut\ninterface Ethernet1/1\ninterface Ethernet1/2\n  switchport mode trunk\n"
            "interface Ethernet1/3\n  service-policy type queuing output OTHER\n"
        ),
        answers={r"show interface Ethernet1/3": "Ethernet1/3 is up\n  MTU 1500 bytes, BW 1000000 Kbit, DLY 10 usec"},
    )


def ios() -> Switch:
    """Ethernet1/3 has a policy of somebody else's, and class maps are shown with more spaces than they are typed with."""
    return Switch(
        rules=_IOS,
        indent=1,
        header="Building configuration...\n\nCurrent configuration : 120 bytes\n!\n",
        running="hostname dut\ninterface Ethernet1/1\ninterface Ethernet1/3\n service-policy output OTHER\n",
        answers={r"show interfaces Ethernet1/3": "Ethernet1/3 is up\n  MTU 1500 bytes, BW 1000000 Kbit/sec, DLY 10 usec"},
        shown=(r"match cos ", "match cos  "),
    )


def eos() -> Switch:
    """It compares a session with the running configuration itself."""
    interfaces = {"interfaces": {"Ethernet1/3": {"bandwidth": 1_000_000_000}}}
    return Switch(
        rules=_EOS,
        indent=3,
        header="! Command: show running-config\n",
        running="hostname dut\ninterface Ethernet1/1\ninterface Ethernet1/3\n   no switchport\n",
        answers={
            r"show interfaces Ethernet1/3 \| json": json.dumps(interfaces),
            r"show version \| json": json.dumps({"version": "4.32.1F", "modelName": "DCS-7050SX3", "serialNumber": "JPE0001"}),
            r"show hostname \| json": json.dumps({"hostname": "dut"}),
        },
    )
