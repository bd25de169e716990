"""Filters that read an Open vSwitch database and its flows, and write them as text from which both can be brought back.

The text has every row of the database as the OVSDB operation that makes it (RFC 7047), one a line; then the flows of every bridge. UUIDs
differ from one restore to the next, so a row is called by its table and name, or by the row and column that it hangs on.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Tables = Mapping[str, Mapping[str, Mapping[str, Any]]]
Flows = Mapping[str, Sequence[str]]

#: Columns that the switch writes of itself.
_STATUS = frozenset(
    (
        "bond_active_slave",
        "cur_cfg",
        "datapath_types",
        "datapath_version",
        "datapaths",
        "db_version",
        "dpdk_initialized",
        "dpdk_version",
        "error",
        "iface_types",
        "next_cfg",
        "ovs_version",
        "system_type",
        "system_version",
    )
)
_EMPTY = (["set", []], ["map", []], "", False, 0)


def tables(backup: Sequence[str]) -> Tables:
    """Table -> UUID -> row, from the lines of `ovsdb-client backup`."""
    return {name: rows for name, rows in json.loads(backup[3]).items() if not name.startswith("_")}


def flows(lines: Sequence[str]) -> Flows:
    """Bridge -> its flows, sorted, from lines "bridge NAME" each followed by the flows of that bridge.

    reset_counts is what a flow did when it came, and nothing that it does.
    """
    found: dict[str, list[str]] = {}
    bridge = ""
    for line in lines:
        if line.startswith("bridge "):
            bridge = line.removeprefix("bridge ")
            found[bridge] = []
        else:
            found[bridge].append(line.strip().replace("reset_counts ", ""))
    return {bridge: sorted(lines) for bridge, lines in found.items()}


def text(database: Tables, flows: Flows) -> str:
    """The configuration as text; the same text for the same configuration."""
    lines = [json.dumps(operation, sort_keys=True) for operation in _inserts(database)]
    for bridge, entries in sorted(flows.items()):
        lines += [f"bridge {bridge}", *entries]
    return "\n".join(lines) + "\n"


def operations(kept: str, database: Tables) -> list[Any]:
    """An OVSDB transaction that makes the database what the kept text says."""
    inserts = [json.loads(line) for line in kept.splitlines() if line.startswith("{")]
    return ["Open_vSwitch", *({"op": "delete", "table": table, "where": []} for table in database), *inserts]


def kept_flows(kept: str) -> Flows:
    """Bridge -> its flows, of the kept text."""
    return flows([line for line in kept.splitlines() if not line.startswith("{")])


def ports(database: Tables) -> dict[str, dict[str, Any]]:
    """Port -> its bridge, tag, trunks, vlan_mode and QoS (type, other_config, queues: number -> other_config)."""
    found = {}
    for bridge in database.get("Bridge", {}).values():
        for _, uuid in _many(bridge["ports"]):
            port = database["Port"][uuid]
            found[port["name"]] = {
                "bridge": bridge["name"],
                "tag": next(iter(_many(port["tag"])), None),
                "trunks": sorted(_many(port["trunks"])),
                "vlan_mode": next(iter(_many(port["vlan_mode"])), ""),
                "qos": next((_qos(database, qos) for _, qos in _many(port["qos"])), {}),
            }
    return found


def _qos(database: Tables, uuid: str) -> dict[str, Any]:
    row = database["QoS"][uuid]
    queues = {str(number): dict(database["Queue"][queue]["other_config"][1]) for number, (_, queue) in row["queues"][1]}
    return {"type": row["type"], "other_config": dict(row["other_config"][1]), "queues": queues}


def _many(value: Any) -> list[Any]:
    """The members of a column that may have none, one or several."""
    return list(value[1]) if isinstance(value, list) and value[0] == "set" else [value]


def _inserts(database: Tables) -> Iterator[dict[str, Any]]:
    rows = {uuid: (table, row) for table, content in database.items() for uuid, row in content.items()}
    called: dict[str, str] = {}

    def walk(uuid: str, path: str) -> Iterator[dict[str, Any]]:
        if uuid in called:
            return
        table, row = rows[uuid]
        called[uuid] = _identifier(f"{table}.{row.get('name') or path}")
        columns: dict[str, Any] = {}
        for column, value in sorted(row.items()):
            if column in _STATUS or value in _EMPTY:
                continue
            for key, reference in _references(value, rows):
                yield from walk(reference, f"{path}.{column}.{key}" if not row.get("name") else f"{row['name']}.{column}.{key}")
            columns[column] = _named(value, called)
        yield {"op": "insert", "table": table, "uuid-name": called[uuid], "row": columns}

    for table in ("Open_vSwitch", *sorted(database)):
        for number, uuid in enumerate(sorted(database[table], key=lambda uuid: _content(rows[uuid][1]))):
            yield from walk(uuid, str(number))


def _references(value: Any, rows: Mapping[str, tuple[str, Mapping[str, Any]]]) -> list[tuple[str, str]]:
    """(key or number, UUID) of every row that a column refers to, in an order that does not hang on UUIDs."""
    if isinstance(value, list) and value[0] == "map":
        return [(str(key), item[1]) for key, item in sorted(value[1]) if isinstance(item, list)]
    members = [member[1] for member in ([value] if _is_reference(value) else _many(value)) if _is_reference(member)]
    ordered = sorted(members, key=lambda uuid: _content(rows[uuid][1]))
    return [(str(number), uuid) for number, uuid in enumerate(ordered)]


def _named(value: Any, called: Mapping[str, str]) -> Any:
    """The value with names in place of UUIDs, members in order."""
    if _is_reference(value):
        return ["named-uuid", called[value[1]]]
    if isinstance(value, list):
        return [value[0], sorted(_named(member, called) for member in value[1])] if value[0] == "set" else _named_map(value, called)
    return value


def _named_map(value: Any, called: Mapping[str, str]) -> Any:
    return ["map", sorted([key, _named(item, called)] for key, item in value[1])]


def _is_reference(value: Any) -> bool:
    return isinstance(value, list) and value[0] == "uuid"


def _content(row: Mapping[str, Any]) -> str:
    """What a row says apart from the rows that it refers to; its name first."""
    plain = {column: value for column, value in row.items() if column not in _STATUS and '["uuid"' not in json.dumps(value)}
    return str(row.get("name", "")) + json.dumps(plain, sort_keys=True)


def _identifier(name: str) -> str:
    """The name as OVSDB takes one: letters, digits and underscores; different for different names."""
    return "".join(letter if letter.isascii() and letter.isalnum() else f"_{ord(letter):x}_" for letter in name)


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filters by name."""
        return {
            "ovs_tables": tables,
            "ovs_flows": flows,
            "ovs_text": text,
            "ovs_operations": operations,
            "ovs_kept_flows": kept_flows,
            "ovs_ports": ports,
        }
