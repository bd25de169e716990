"""The colours of the pages, from the palette that figures and reports have: /palette.css."""

from functools import cache

from fastapi import APIRouter, Response

from api.identity import open_to_all
from rackproof.palette import DARK, GRID, INK, INK_FAINT, INK_SOFT, NO_VERDICT, PAPER, QUEUES, RULE, SCHEMES, TONES, VERDICTS

router = APIRouter(dependencies=[open_to_all])

_NEUTRAL = {"ink": INK, "soft": INK_SOFT, "faint": INK_FAINT, "hair": GRID, "rule": RULE, "paper": PAPER}


@router.get("/palette.css")
async def palette() -> Response:
    return Response(css(), media_type="text/css", headers={"Cache-Control": "public, max-age=300"})


@cache
def css() -> str:
    """Custom properties for light and dark."""
    series = {f"queue-{index}": mark.colour for index, mark in enumerate(QUEUES)}
    series |= {f"scheme-{place}": mark.colour for place, mark in enumerate(SCHEMES)}
    light = _NEUTRAL | series
    dark = {name: DARK.get(colour, colour) for name, colour in light.items()}
    fixed = {f"verdict-{verdict.value}": colour for verdict, colour in VERDICTS.items()} | {"verdict-none": NO_VERDICT}
    fixed |= {f"tone-{tone}": colour for tone, colour in TONES.items()}
    of_light, of_dark = _properties({**light, **fixed}), _properties(dark)
    return (
        f":root {{ color-scheme: light dark; {of_light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{ {of_dark} }} }}\n"
        f":root[data-theme=dark] {{ color-scheme: dark; {of_dark} }}\n"
        ":root[data-theme=light] { color-scheme: light; }\n"
        + "".join(f".{name} {{ --colour: var(--{name}); }}\n" for name in [*fixed, *series])
    )


def _properties(colours: dict[str, str]) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())
