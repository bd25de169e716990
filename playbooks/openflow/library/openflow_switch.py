"""Ansible module: a switch that is configured by OpenFlow 1.3, from this machine."""

import ssl
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from pydantic import TypeAdapter

from orchestrator.openflow import crosshaul, switch
from orchestrator.openflow.flows import Tables
from orchestrator.openflow.session import Place, Session
from rackproof.errors import DeviceError
from rackproof.model.functions import Flow
from rackproof.model.xcf import ForwardingElement

DOCUMENTATION = """
module: openflow_switch
short_description: A switch that is configured by OpenFlow 1.3
description: Reads, changes and compares all flows, groups and meters of a switch. Runs on the machine that is its controller.
options:
  state:
    description: What is done.
    type: str
    required: true
    choices: [facts, counters, captured, applied, checked, restored]
  address:
    description: Where the switch is.
    type: str
    required: true
  port:
    description: TCP port on which the switch waits for a controller.
    type: int
    required: true
  options:
    description: The options of the inventory's entry.
    type: dict
    default: {}
  key:
    description: File with the private key of our certificate.
    type: path
  flows:
    description: Flows that the switch shall have (table, priority, match, actions).
    type: list
    elements: dict
  element:
    description: A forwarding element whose tables the switch shall have.
    type: dict
  kept:
    description: What was captured, for restored.
    type: str
"""


def main() -> None:
    """Do what is asked, and exit as Ansible wants it."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "required": True, "choices": ["facts", "counters", "captured", "applied", "checked", "restored"]},
            "address": {"type": "str", "required": True},
            "port": {"type": "int", "required": True},
            "options": {"type": "dict", "default": {}},
            "key": {"type": "path", "no_log": False},
            "flows": {"type": "list", "elements": "dict"},
            "element": {"type": "dict"},
            "kept": {"type": "str"},
        }
    )
    try:
        with Session(_place(module.params)) as session:
            answer = _done(session, module.params)
    except (DeviceError, OSError) as error:
        module.fail_json(msg=str(error))
    else:
        module.exit_json(**answer)


def _done(session: Session, asked: dict[str, Any]) -> dict[str, Any]:
    if asked["state"] == "facts":
        return {"changed": False, "facts": switch.facts(session)}
    if asked["state"] == "counters":
        return {"changed": False, "counters": switch.counters(session)}
    found = switch.read(session)
    if asked["state"] == "captured":
        return {"changed": False, "configuration": found.text}
    if asked["state"] == "restored":
        switch.change(session, switch.state_of(asked["kept"]), found)
        return {"changed": True, "configuration": switch.read(session).text}
    wanted = switch.wanted(_tables(asked), switch.ports(session))
    unlike = switch.differences(wanted, found)
    if asked["state"] == "applied" and unlike:
        switch.change(session, wanted, found)
    return {"changed": asked["state"] == "applied" and bool(unlike), "differences": unlike, "diff": "\n".join(unlike)}


def _tables(asked: dict[str, Any]) -> Tables:
    if asked["element"] is not None:
        return crosshaul.tables(TypeAdapter(ForwardingElement).validate_python(asked["element"]))
    return Tables(flows=TypeAdapter(tuple[Flow, ...]).validate_python(asked["flows"]))


def _place(asked: dict[str, Any]) -> Place:
    options = asked["options"]
    listen = options.get("listen")
    return Place(
        address=asked["address"],
        port=asked["port"],
        listen=None if listen is None else int(listen),
        tls=_tls(options, asked["key"], serves=listen is not None) if options.get("tls") else None,
        timeout_s=float(options.get("timeout_s", 10)),
    )


def _tls(options: dict[str, Any], key: str | None, *, serves: bool) -> ssl.SSLContext:
    """Both sides show a certificate; a switch's is checked against `ca`, and not by its name: switches are known by their keys."""
    if missing := [name for name in ("ca", "certificate") if not options.get(name)] + ([] if key else ["credentials.private_key"]):
        raise DeviceError(f"TLS needs {', '.join(missing)}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if serves else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(options["ca"])
    context.load_cert_chain(options["certificate"], key)
    return context


if __name__ == "__main__":
    main()
