"""Figures drawn to SVG, in processes of their own: the caller never imports matplotlib, and draws on as many cores as it says."""

import gc
import logging
import multiprocessing
import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from io import BytesIO
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any

from reports import style, typeface
from reports.document import Figure
from reports.sketch import Sketch
from reports.text import clean

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext

log = logging.getLogger(__name__)

#: No figure takes this long; a worker that says nothing for so long is lost [s].
PATIENCE_S = 60.0

#: What the workers have imported before they are forked. None of this package: the server may not find it where it runs from a checkout.
#: pydantic, because the folder of a kind, where its drawing functions are, brings it along; pyarrow, because figures may read raw samples.
_PRELOAD = (
    "matplotlib.backends.backend_svg",
    "matplotlib.collections",
    "matplotlib.figure",
    "matplotlib.font_manager",
    "matplotlib.lines",
    "pyarrow.parquet",
    "pydantic",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawing:
    """A figure that was drawn, or why it was not: a report is not lost for one figure."""

    svg: str = ""
    error: str = ""


def warm_up() -> None:
    """Begin to import matplotlib in the background, so that the first report does not wait for it. Returns at once."""
    from multiprocessing import forkserver

    _context()
    forkserver.ensure_running()


def render(figures: Mapping[str, Figure], *, workers: int = 2) -> dict[str, Drawing]:
    """Draw the figures; same keys, same order. workers = 0 draws in this process."""
    drawings = _in_workers(figures, workers) if workers > 0 and figures else {key: draw(figure) for key, figure in figures.items()}
    for key, drawing in drawings.items():
        if drawing.error:
            log.error("figure %s (%s): %s", key, figures[key].caption, drawing.error)
    return {key: drawings[key] for key in figures}


def _in_workers(figures: Mapping[str, Figure], workers: int) -> dict[str, Drawing]:
    drawings: dict[str, Drawing] = {}
    # The dearest first, so that no worker is left alone with it at the end.
    waiting = sorted(figures, key=lambda key: -figures[key].width_in * figures[key].height_in)
    context = _context()
    with ExitStack() as stack:
        at_work: dict[Connection, str | None] = {}
        for _ in range(min(workers, len(waiting))):
            here, there = context.Pipe()
            stack.enter_context(closing(here))
            process = context.Process(target=_work, args=(there,), daemon=True, name="rackproof-figures")
            process.start()
            there.close()
            stack.callback(_end, process)
            at_work[here] = None
        stack.callback(_close, at_work)
        for connection in at_work:
            _hand_out(connection, at_work, waiting, figures)
        while busy := [connection for connection, key in at_work.items() if key is not None]:
            ready = wait(busy, timeout=PATIENCE_S)
            if not ready:
                raise TimeoutError(f"no figure was drawn in {PATIENCE_S:.0f} s")
            for each in ready:
                assert isinstance(each, Connection)
                key = at_work[each]
                assert key is not None
                try:
                    drawings[key] = each.recv()
                except (EOFError, OSError):
                    drawings[key] = Drawing(error="the process that drew it ended")
                    del at_work[each]
                    if not at_work:
                        drawings.update({lost: Drawing(error="no process was left to draw it") for lost in waiting})
                    continue
                _hand_out(each, at_work, waiting, figures)
    return drawings


def _end(process: BaseProcess) -> None:
    process.join(5)
    if process.is_alive():
        process.kill()
        process.join(5)


def _close(connections: Iterable[Connection]) -> None:
    for connection in connections:
        connection.close()


def draw(figure: Figure) -> Drawing:
    """Draw one figure in this process."""
    try:
        return Drawing(svg=clean(_sketch(figure)) if figure.sketched else _matplotlib(figure))
    except Exception as error:  # noqa: BLE001 - whatever a drawing function raises, the other figures go on
        return Drawing(error=f"{type(error).__name__}: {error}")


def _sketch(figure: Figure) -> str:
    sketch = Sketch(figure.width_in, figure.height_in)
    figure.draw(sketch, figure.data)
    return sketch.svg()


def _matplotlib(figure: Figure) -> str:
    import warnings

    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    _register_fonts()
    rc: Any = dict(style.RC)
    with mpl.rc_context(rc), warnings.catch_warnings():
        # A name may hold a character that no font here has; it is text in the SVG all the same.
        warnings.filterwarnings("ignore", message=r"(?s)Glyph .* missing from")
        canvas = Canvas(figsize=(figure.width_in, figure.height_in))
        FigureCanvasSVG(canvas)
        out = BytesIO()
        figure.draw(canvas, figure.data)
        canvas.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _tidy(out.getvalue().decode())


def scoped(svg: str, prefix: str) -> str:
    """The SVG with every id prefixed, so that several can stand in one page."""
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    return re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)


def _context() -> "ForkServerContext":
    # A server forks the workers, not this process: it may have threads and open connections. It has imported matplotlib once, for every
    # report that follows, and ends with this process, however that ends.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOAD))
    return context


def _hand_out(connection: Connection, at_work: dict[Connection, str | None], waiting: list[str], figures: Mapping[str, Figure]) -> None:
    key = waiting.pop(0) if waiting else None
    at_work[connection] = key
    if key is not None:
        # A worker that is gone is noticed when its answer is read.
        with suppress(OSError):
            connection.send(figures[key])


def _work(connection: Connection) -> None:
    # A worker draws some figures and ends: collecting garbage would only copy the pages that it shares with the server.
    gc.disable()
    # Ends when the other side is gone: nothing else holds that end of the pipe.
    while True:
        try:
            figure = connection.recv()
        except (EOFError, OSError):
            return
        try:
            connection.send(draw(figure))
        except OSError:
            return


def _register_fonts() -> None:
    from matplotlib import font_manager

    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for path in _missing(known):
        font_manager.fontManager.addfont(path)


def _missing(known: Iterable[str]) -> list[str]:
    return [str(path) for path in typeface.files() if str(path) not in known]


def _tidy(svg: str) -> str:
    # The prologue names a DTD on the web, and inline SVG has none; the metadata only say what wrote it.
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # XML cannot hold control characters, not even as references.
    return clean(svg)
