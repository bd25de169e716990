"""Which programs do the schemes of a plan run on this machine, and in which version?"""

from collections.abc import Mapping

from rackproof.settings import Settings
from testplans.congestion_control.plan import CongestionControlPlan
from testplans.congestion_control.schemes import registry
from testplans.congestion_control.schemes.probe import local_call, probe
from testplans.congestion_control.schemes.tools import Tools
from testplans.congestion_control.view import scheme_topic


def provenance(plan: CongestionControlPlan) -> Mapping[str, Mapping[str, str]]:
    """Label and version of each scheme by its topic; what is missing for one that is not there. Hosts of the bench are this machine.

    What a real host has, a run shows: it is not asked before.
    """
    schemes = dict.fromkeys(scheme for _, flows in plan.tests for scheme in flows)
    if plan.path.hosts:
        where = f"as {' and '.join(plan.path.hosts)} have it"
        return {scheme_topic(scheme): {"label": registry.scheme(scheme).label, "version": where} for scheme in schemes}
    found = probe([registry.scheme(scheme) for scheme in schemes], local_call, Tools.of(Settings.load()))
    return {
        scheme_topic(each.scheme.id): {
            "label": each.scheme.label,
            **({"version": each.version} if each.version else {}),
            **({"missing": "; ".join(each.missing)} if each.missing else {}),
            **({"weak": each.scheme.weak} if each.scheme.weak else {}),
        }
        for each in found
    }
