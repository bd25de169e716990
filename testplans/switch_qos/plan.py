"""What a person may ask of the kind switch-qos, and what is refused; its parts are in parts.py and limits.py."""

import functools
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import InitErrorDetails

from rackproof.units import Layer, frames_per_second, wire_bits
from testplans.kind import TRIALS_MAX, Plan
from testplans.strict import Whole, fault, refuse
from testplans.switch_qos.limits import CRITERIA, CriteriaPart, Expected, ValidityPart
from testplans.switch_qos.parts import Device, LinkPart, LoadPart, Queues, Scheduler, TrafficPart, TrialPart

__all__ = ["CRITERIA", "Device", "Scheduler", "SwitchQosPlan"]

#: Mean loads are compared to the line rate with this much room for rounding.
RATE_SLACK = 1e-9


class SwitchQosPlan(Plan):
    """A campaign that compares how switches schedule traffic of different priorities."""

    kind: Literal["switch-qos"] = Field(description="The kind of plan.")
    devices: tuple[Device, ...] = Field(max_length=20, title="Devices", description="Names of models, or name, model, options.")
    disciplines: tuple[Scheduler, ...] = Field(max_length=10, title="Disciplines", description="What each device is set to.")
    queues: Queues = Field(default_factory=lambda: Queues.model_validate({}), title="Queues")
    traffic: TrafficPart = Field(default_factory=TrafficPart, title="Traffic")
    link: LinkPart = Field(default_factory=LinkPart, title="Link")
    load: LoadPart = Field(title="Load")
    trial: TrialPart = Field(default_factory=TrialPart, title="Trial")
    repetitions: Annotated[Whole, Field(ge=1, le=100)] = Field(
        default=1, title="Repetitions", description="How often each point is measured."
    )
    seed: Annotated[Whole, Field(ge=0, lt=2**31)] = Field(default=1, title="Seed", description="What all random draws follow from.")
    criteria: CriteriaPart = Field(default_factory=CriteriaPart, title="Criteria")
    validity: ValidityPart = Field(default_factory=ValidityPart, title="Validity")
    expect: tuple[Expected, ...] = Field(default=(), title="Expected to fail", description="Devices with planted defects.")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        faults = [*self._unique(), *self._weights(), *self._loads(), *self._expectations(), *self._size()]
        if faults:
            refuse(type(self), *faults)
        return self

    def _size(self) -> list[InitErrorDetails]:
        trials = len(self.devices) * len(self.disciplines) * len(self.load.per_sender_mbps) * self.repetitions
        if trials <= TRIALS_MAX:
            return []
        what = f"at most {TRIALS_MAX} trials in all (devices x disciplines x loads x repetitions)"
        return [fault(("repetitions",), what, f"{trials}")]

    def _unique(self) -> list[InitErrorDetails]:
        for key in ("devices", "disciplines"):
            if not getattr(self, key):
                return [fault((key,), "at least one", "none")]
        names = [device.name for device in self.devices]
        labels = [scheduler.label for scheduler in self.disciplines]
        twice = [fault(("devices", at), "names that differ", f"{name} again") for at, name in enumerate(names) if name in names[:at]]
        return twice + [
            fault(("disciplines", at), "disciplines that differ", f"{label} again")
            for at, label in enumerate(labels)
            if label in labels[:at]
        ]

    def _weights(self) -> list[InitErrorDetails]:
        count = self.queues.count
        return [
            fault(("disciplines", at, "weights"), f"{count} weights, one for each queue", f"{len(scheduler.weights)}")
            for at, scheduler in enumerate(self.disciplines)
            if scheduler.weights and len(scheduler.weights) != count
        ]

    def _loads(self) -> list[InitErrorDetails]:
        most = self.sender_mbps_max
        return [
            fault(
                ("load", "per_sender_mbps", at),
                f"at most {most:g} Mbit/s ({self.link.layer}), the line rate of a sender on a link of {self.link.rate_mbps:g} Mbit/s",
                f"{load:g}",
            )
            for at, load in enumerate(self.load.per_sender_mbps)
            if load > most * (1 + RATE_SLACK)
        ]

    def _expectations(self) -> list[InitErrorDetails]:
        names = [device.name for device in self.devices]
        faults = []
        for at, expected in enumerate(self.expect):
            if expected.device not in names:
                faults.append(fault(("expect", at, "device"), f"a device of the plan ({', '.join(names)})", expected.device))
            elif expected.device in [other.device for other in self.expect[:at]]:
                faults.append(fault(("expect", at, "device"), "each device once", f"{expected.device} again"))
            if not expected.criteria:
                faults.append(fault(("expect", at, "criteria"), "at least one criterion", "none"))
            for place, criterion in enumerate(expected.criteria):
                if criterion not in CRITERIA:
                    faults.append(fault(("expect", at, "criteria", place), f"a criterion ({', '.join(CRITERIA)})", criterion))
                elif getattr(self.criteria, CRITERIA[criterion][0]) is None:
                    key = CRITERIA[criterion][0]
                    faults.append(fault(("expect", at, "criteria", place), "a criterion that is judged", f"{criterion}, but {key} is null"))
        return faults

    @property
    def sender_mbps_max(self) -> float:
        """The load [Mbit/s at the plan's layer] of a sender that fills its link, for the smallest mean frame among the senders."""
        smallest = min(self.traffic.mean_frame_bytes(priority) for priority in set(self.traffic.sender_priorities))
        return self.link.rate_mbps * wire_bits(smallest, self.link.layer) / wire_bits(smallest, Layer.L1)

    def queue_of(self, sender: int) -> int:
        """The queue that a sender's frames wait in."""
        return self._sender_queues[sender]

    def senders_of(self, queue: int) -> tuple[int, ...]:
        """The senders whose frames share a queue."""
        return self._queue_senders.get(queue, ())

    @functools.cached_property
    def _sender_queues(self) -> tuple[int, ...]:
        return tuple(self.queues.priority_map[priority] for priority in self.traffic.sender_priorities)

    @functools.cached_property
    def _queue_senders(self) -> dict[int, tuple[int, ...]]:
        queues = self._sender_queues
        return {queue: tuple(sender for sender, mine in enumerate(queues) if mine == queue) for queue in set(queues)}

    @functools.cached_property
    def used_queues(self) -> tuple[int, ...]:
        """Queues that traffic is sent to, ascending."""
        return tuple(sorted(set(self._sender_queues)))

    def mean_frame_bytes(self, sender: int) -> float:
        """Mean frame size [byte] of a sender."""
        return self.traffic.mean_frame_bytes(self.traffic.sender_priorities[sender])

    def sender_fps(self, sender: int, load_mbps: float) -> float:
        """Frame rate [1/s] of a sender at a load [Mbit/s at the plan's layer]."""
        return frames_per_second(load_mbps * 1e6, self.mean_frame_bytes(sender), self.link.layer)

    @property
    def only_frame_bytes(self) -> int | None:
        """The size [byte] of every frame of the plan, None where sizes differ."""
        sizes = {size.frame_bytes for priority in set(self.traffic.sender_priorities) for size in self.traffic.frame_sizes(priority)}
        return sizes.pop() if len(sizes) == 1 else None

    def sender_bps_max(self, sender: int) -> float:
        """Layer-1 rate [bit/s] of a sender at the highest load of the plan."""
        highest = max(self.load.per_sender_mbps)
        return self.sender_fps(sender, highest) * wire_bits(self.mean_frame_bytes(sender), Layer.L1)

    @property
    def drain_s(self) -> float:
        """How long the receiver listens on [s]: as stated, or 1.25 times what all queues, full of the largest frames, take, and 50 ms."""
        if self.trial.drain_s is not None:
            return self.trial.drain_s
        return 0.05 + 1.25 * self.queues.count * self.full_queue_s

    @property
    def full_queue_s(self) -> float:
        """How long one queue full of the largest frames takes to empty at the link's rate [s]."""
        largest = max(size.frame_bytes for priority in set(self.traffic.sender_priorities) for size in self.traffic.frame_sizes(priority))
        return self.queues.length_frames * wire_bits(largest, Layer.L1) / self.link.rate_bps

    @property
    def trial_s(self) -> float:
        """Wall time of a trial's traffic [s]."""
        return self.trial.warmup_s + self.trial.duration_s + self.drain_s

    @property
    def lateness_p99_us_max(self) -> float:
        """Largest 99th percentile of lateness [us]: a quarter of what a full queue takes to empty, as default.

        Late frames leave in a burst after a gap. In a gap that short no full queue runs dry, and the burst does not fill an empty one.
        """
        return self.validity.lateness_p99_us_max or max(1000.0, self.full_queue_s * 1e6 / 4)

    def device(self, name: str) -> Device:
        """The device of that name. Raises KeyError."""
        for device in self.devices:
            if device.name == name:
                return device
        raise KeyError(name)

    def scheduler(self, label: str) -> Scheduler:
        """The discipline with that label. Raises KeyError."""
        for scheduler in self.disciplines:
            if scheduler.label == label:
                return scheduler
        raise KeyError(label)
