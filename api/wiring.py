"""What do routes need of the application: the store, the settings, who follows events. As dependencies, which never block."""

from typing import Annotated, cast

from fastapi import Depends, Path, Request

from api.following import Hub
from api.metrics import Metrics
from rackproof.settings import Settings
from rackproof.store import Store

BIGINT_MAX = 2**63 - 1
INT_MAX = 2**31 - 1


async def _store(request: Request) -> Store:
    return cast(Store, request.app.state.store)


async def _settings(request: Request) -> Settings:
    return cast(Settings, request.app.state.settings)


async def _hub(request: Request) -> Hub:
    return cast(Hub, request.app.state.hub)


async def _metrics(request: Request) -> Metrics:
    return cast(Metrics, request.app.state.metrics)


TheStore = Annotated[Store, Depends(_store)]
TheSettings = Annotated[Settings, Depends(_settings)]
TheHub = Annotated[Hub, Depends(_hub)]
TheMetrics = Annotated[Metrics, Depends(_metrics)]

#: Numbers of things in addresses; what no column could hold is refused before it is asked for.
Number = Annotated[int, Path(ge=1, le=BIGINT_MAX)]
TrialIndex = Annotated[int, Path(ge=1, le=INT_MAX)]
