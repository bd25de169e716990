"""One module for each page, with its `router`; found by name, and a broken one stops everything and says so."""

import importlib
import pkgutil

from fastapi import APIRouter


def routers() -> list[APIRouter]:
    """The routers of all pages."""
    return [importlib.import_module(f"{__name__}.{module.name}").router for module in pkgutil.iter_modules(__path__)]
