"""What can be asked of a plan that does nothing?"""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from testplans.kind import Plan


class Plant(BaseModel):
    """Trials that do not pass. times: how often an execution goes wrong before one goes well; null: always. Counting needs a marker."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trials: tuple[int, ...] = Field(min_length=1)
    verdict: Literal["INVALID", "FAIL", "ERROR", "TIMEOUT"]
    times: int | None = Field(default=None, ge=1)


class NothingPlan(Plan):
    """marker: a file to which every execution of a trial appends "CAMPAIGN TRIAL PID". device_file: where the device keeps what it is.

    hold_file: while it is there, the trial whose number stands in it does not end.
    """

    testbed: str = Field(default="nothing")
    trials: int = Field(default=3, ge=1, le=100_000, description="How many trials.")
    sleep_s: float = Field(default=0.0, ge=0, le=3600, description="How long each takes [s].")
    setups: int = Field(default=1, ge=1, le=1000, description="How many configurations the trials are spread over, in equal parts.")
    measurements: int = Field(default=1, ge=0, le=1000, description="How many measurements a trial gives.")
    rows: int = Field(default=0, ge=0, le=1_000_000, description="How many samples a trial gives.")
    value: float = Field(default=1.0, description="What every trial measures.")
    limit: float | None = Field(default=None, description="The campaign fails where a trial measured more.")
    plant: tuple[Plant, ...] = ()
    marker: str | None = None
    device_file: str | None = None
    hold_file: str | None = None

    @model_validator(mode="after")
    def _countable(self) -> Self:
        if self.marker is None and any(plant.times is not None for plant in self.plant):
            raise ValueError("expected a marker, for the executions to be counted, found none")
        return self
