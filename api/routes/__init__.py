"""The routes, one module for each question that a client asks."""

from fastapi import APIRouter

from api.routes import artefacts, campaigns, decisions, events, kinds, lab, plans, reports, results, schedules, submissions, trends


def routers() -> tuple[APIRouter, ...]:
    """Everything below /api/v1 but accounts."""
    return tuple(
        module.router
        for module in (kinds, plans, submissions, campaigns, decisions, events, results, artefacts, reports, lab, schedules, trends)
    )
