"""The routes, one module for each question that a client asks."""

from fastapi import APIRouter

from api.routes import (
    artefacts,
    campaigns,
    decisions,
    events,
    inventories,
    kinds,
    lab,
    plans,
    reports,
    results,
    schedules,
    submissions,
    trends,
)


def routers() -> tuple[APIRouter, ...]:
    """Everything below /api/v1 but accounts."""
    modules = (kinds, plans, submissions, campaigns, decisions, events, results, artefacts, reports, lab, inventories, schedules, trends)
    return tuple(module.router for module in modules)
