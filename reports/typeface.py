"""The typeface of reports: where it is, and the part of it that a page needs. Labs have no internet, and hosts have whatever they have."""

import base64
import importlib.util
import io
from functools import cache
from pathlib import Path

#: Source Sans Pro (SIL Open Font License 1.1), as the package font-source-sans-pro has it.
FAMILY = "Source Sans Pro"
_PACKAGE = "font_source_sans_pro"
_FACES = {400: "SourceSansPro-Regular.ttf", 600: "SourceSansPro-Semibold.ttf"}
_ITALIC = "SourceSansPro-It.ttf"


@cache
def folder() -> Path:
    """The folder of the font files. Raises RuntimeError where the package is not installed."""
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise RuntimeError(f"reports need the package {_PACKAGE.replace('_', '-')}, which is not installed")
    return Path(found.origin).parent / "files"


def files() -> list[Path]:
    """The faces that figures and pages use."""
    return [folder() / name for name in (*_FACES.values(), _ITALIC)]


def embedded(text: str) -> dict[int, str]:
    """Weight -> a WOFF file in base64 with the characters of the text, so that an HTML page looks alike on every host."""
    from fontTools import subset

    characters = set(map(ord, set(text)))
    made = {}
    for weight, name in _FACES.items():
        # Timestamps stay those of the font, so that the same page is the same file.
        options = subset.Options(flavor="woff", hinting=False, layout_features=["kern", "liga"], recalc_timestamp=False)
        target = io.BytesIO()
        with subset.load_font(str(folder() / name), options) as font:
            subsetter = subset.Subsetter(options)
            subsetter.populate(unicodes=characters)
            subsetter.subset(font)
            subset.save_font(font, target, options)
        made[weight] = base64.b64encode(target.getvalue()).decode()
    return made
