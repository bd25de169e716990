"""Inventories that tests use."""

LAB = """\
name: lab1
description: One TRex and one Linux switch.
devices:
  - name: switch-1
    platform: linux
    address: 192.0.2.11
    credentials: {user: rackproof, private_key: file:/etc/rackproof/keys/switch-1, become: env:SUDO}
generators:
  - {name: trex-1, kind: trex, address: 192.0.2.20, ports: [0, 1]}
links:
  - {a: "trex-1:0", b: "switch-1:enp1s0f0", speed_mbps: 1000, media: fibre, cable_delay_ns: 25}
  - {a: "trex-1:1", b: "switch-1:enp1s0f1", speed_mbps: 1000}
roles:
  switch-qos:
    switch-1: {"p*": enp1s0f0, out: enp1s0f1}
"""
#: What must not be seen anywhere.
SECRET = "hunter2-of-the-rack"
