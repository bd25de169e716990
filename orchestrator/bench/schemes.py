"""Which congestion-control schemes can run here? Finding out starts dozens of programs, so it is done when somebody asks."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from rackproof.settings import Settings


class Schemes(Mapping[str, str]):
    """Scheme -> what is missing for it ("" where nothing is): rackproof.ports.Limits.schemes. Hosts of the bench are this machine."""

    @cached_property
    def _found(self) -> dict[str, str]:
        from testplans.congestion_control.schemes import registry
        from testplans.congestion_control.schemes.probe import local_call, probe
        from testplans.congestion_control.schemes.tools import Tools

        found = probe(registry.schemes().values(), local_call, Tools.of(Settings.load()))
        return {each.scheme.id: "; ".join(each.missing) for each in found}

    def __getitem__(self, scheme: str) -> str:
        return self._found[scheme]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
