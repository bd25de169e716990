"""Renders a template of a platform as Ansible does, without a device."""

from functools import cache
from typing import Any

from ansible.parsing.dataloader import DataLoader  # type: ignore[import-untyped]
from ansible.plugins.loader import init_plugin_loader  # type: ignore[import-untyped]
from ansible.template import Templar, trust_as_template  # type: ignore[import-untyped]

from orchestrator.devices.platforms import plain, playbooks_folder
from rackproof.model.functions import DeviceFunction


def rendered(platform: str, template: str, function: DeviceFunction | None = None, **variables: Any) -> str:
    """The text of a template (its path in the platform's folder) for a function and further variables."""
    _load_plugins()
    folder = str(playbooks_folder() / platform)
    loader = DataLoader()
    loader.set_basedir(folder)
    known = {"playbook_dir": folder, "ansible_search_path": [folder], "rackproof_options": {}, **variables}
    if function is not None:
        known["rackproof_function"] = plain(function)
    templar = Templar(loader=loader, variables=known)
    return str(templar.template(trust_as_template(f"{{{{ lookup('ansible.builtin.template', {template!r}) }}}}")))


@cache
def _load_plugins() -> None:
    init_plugin_loader()
