"""The typeface of the pages: the one of the reports, from its package."""

import importlib.util
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

from api.identity import open_to_all
from api.problems import Refusal

router = APIRouter(dependencies=[open_to_all])

_PACKAGE = "font_source_sans_pro"
_FACES = {"400": "SourceSansPro-Regular.otf", "600": "SourceSansPro-Semibold.otf"}


@router.get("/fonts/{weight}.otf")
async def face(weight: str) -> FileResponse:
    spec = importlib.util.find_spec(_PACKAGE)
    if weight not in _FACES or spec is None or spec.origin is None:
        raise Refusal(404, f"expected a weight of {', '.join(_FACES)}, found {weight}")
    path = Path(spec.origin).parent / "files" / _FACES[weight]
    return FileResponse(path, media_type="font/otf", headers={"Cache-Control": "public, max-age=604800"})
