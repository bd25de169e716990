"""Everything that can be done with the site: by which request, who may do it, and where it is shown to whoever may."""

from collections.abc import Mapping
from dataclasses import dataclass

from rackproof.model.service import Role

_API = "/api/v1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """What changes something. least: the least role that may (None: anybody); shown: on pages, to whoever may; otherwise programs alone,
    or scripts of pages, ask for it.
    """

    method: str
    route: str
    least: Role | None
    shown: bool = True

    @property
    def name(self) -> str:
        return f"{self.method} {self.route}"


def _of(least: Role | None, *names: str, shown: bool = True) -> tuple[Action, ...]:
    return tuple(Action(method=name.split()[0], route=name.split()[1], least=least, shown=shown) for name in names)


ACTIONS: tuple[Action, ...] = (
    # Anybody may come in.
    *_of(None, f"POST {_API}/session"),
    *_of(None, f"POST {_API}/setup", shown=False),
    # A viewer reads everything that was measured, and keeps their own account.
    *_of(
        Role.VIEWER,
        f"DELETE {_API}/session",
        f"PUT {_API}/session/password",
        f"POST {_API}/tokens",
        f"DELETE {_API}/tokens/{{token}}",
    ),
    *_of(Role.VIEWER, f"POST {_API}/plans/check", f"POST {_API}/inventories/check", shown=False),
    # An engineer also submits, cancels, reserves and schedules.
    *_of(
        Role.ENGINEER,
        f"POST {_API}/campaigns",
        f"POST {_API}/campaigns/{{campaign}}/cancel",
        f"POST {_API}/campaigns/{{campaign}}/retry",
        f"POST {_API}/campaigns/{{campaign}}/resume",
        f"PUT {_API}/campaigns/{{campaign}}/priority",
        f"POST {_API}/campaigns/{{campaign}}/reports",
        f"PUT {_API}/reports/{{report}}/pin",
        f"DELETE {_API}/reports/{{report}}/pin",
        f"POST {_API}/reservations",
        f"DELETE {_API}/reservations/{{reservation}}",
        f"POST {_API}/schedules",
        f"PATCH {_API}/schedules/{{schedule}}",
        f"DELETE {_API}/schedules/{{schedule}}",
        f"POST {_API}/schedules/{{schedule}}/pause",
        f"POST {_API}/schedules/{{schedule}}/resume",
        f"POST {_API}/schedules/{{schedule}}/run",
        f"POST {_API}/deliveries/{{delivery}}/retry",
    ),
    *_of(
        Role.ENGINEER,
        f"POST {_API}/rehearsals",
        f"POST {_API}/campaigns/{{campaign}}/clone",
        f"POST {_API}/campaigns/{{campaign}}/again",
        "POST /campaigns/new/form",
        "POST /campaigns/new/yaml",
        "POST /campaigns/new/rehearsal",
        shown=False,
    ),
    # An admin also keeps users, testbeds and workers.
    *_of(
        Role.ADMIN,
        f"POST {_API}/users",
        f"PATCH {_API}/users/{{user}}",
        f"DELETE {_API}/users/{{user}}",
        f"PUT {_API}/users/{{user}}/password",
        f"DELETE {_API}/users/{{user}}/tokens/{{token}}",
        f"PUT {_API}/testbeds/{{testbed}}/state",
        f"PUT {_API}/testbeds/{{testbed}}/health-check",
        f"PUT {_API}/inventories/{{inventory}}",
        f"DELETE {_API}/inventories/{{inventory}}",
        f"DELETE {_API}/testbeds/{{testbed}}/offline-devices/{{device}}",
        f"POST {_API}/workers/{{worker}}/adopt",
    ),
)

#: What a page sends by its own script: what one sees of it, and what it sends.
MARKS: Mapping[str, str] = {
    "#submit-button": f"POST {_API}/campaigns",
    "#save": f"PUT {_API}/inventories/{{inventory}}",
    "#token-form": f"POST {_API}/tokens",
    "#schedule[data-schedule=''] .button.primary:enabled": f"POST {_API}/schedules",
    "#schedule:not([data-schedule='']) .button.primary:enabled": f"PATCH {_API}/schedules/{{schedule}}",
}
