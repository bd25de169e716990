"""How is a file given, whole or a part of it (RFC 9110, section 14)?"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from api.conditions import holds
from api.problems import Refusal

#: (first byte, how many) -> these bytes in parts.
Reader = Callable[[int, int], Iterator[bytes]]

_CHUNK_BYTES = 256 * 1024
#: A request to an object store costs more than a read.
_PART_BYTES = 4 * 1024 * 1024
_RANGE = re.compile(r"bytes=\s*(?:(\d{1,18})-(\d{1,18})?|-(\d{1,18}))\s*")


def given(
    request: Request,
    read: Reader,
    *,
    size: int,
    sha256: str,
    media_type: str,
    name: str,
    cache: str = "private, no-cache",
    inline: bool = False,
) -> Response:
    """A file named after its content by its ETag; Range and If-None-Match are kept. Raises Refusal (416)."""
    etag = f'"{sha256}"'
    headers = {
        "ETag": etag,
        "Cache-Control": cache,
        "Accept-Ranges": "bytes",
        "Content-Disposition": f'{"inline" if inline else "attachment"}; filename="{name}"',
    }
    if holds(request, etag):
        return Response(status_code=304, headers=headers)
    first, count, status = 0, size, 200
    if (part := _part(request, etag, size)) is not None:
        first, count = part
        status = 206
        headers["Content-Range"] = f"bytes {first}-{first + count - 1}/{size}"
    headers["Content-Length"] = str(count)
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers, media_type=media_type)
    return StreamingResponse(read(first, count), status, headers, media_type)


def of_path(path: Path) -> Reader:
    """Reads a file of this machine."""

    def read(first: int, count: int) -> Iterator[bytes]:
        with path.open("rb") as file:
            file.seek(first)
            left = count
            while left > 0 and (chunk := file.read(min(_CHUNK_BYTES, left))):
                left -= len(chunk)
                yield chunk

    return read


def of_parts(part: Callable[[int, int], bytes]) -> Reader:
    """Reads what gives some bytes at a time: an object store, for one."""

    def read(first: int, count: int) -> Iterator[bytes]:
        end = first + count
        while first < end and (chunk := part(first, min(_PART_BYTES, end - first))):
            first += len(chunk)
            yield chunk

    return read


def _part(request: Request, etag: str, size: int) -> tuple[int, int] | None:
    """First byte and length of what is asked for; None for the whole file, as where several parts or nonsense are asked for."""
    asked = request.headers.get("range")
    condition = request.headers.get("if-range")
    if asked is None or (condition is not None and condition.strip() != etag):
        return None
    found = _RANGE.fullmatch(asked.strip())
    if found is None:
        return None
    if found[3] is not None:
        first, last = max(0, size - int(found[3])), size - 1
        unsatisfiable = int(found[3]) == 0 or size == 0
    else:
        first, last = int(found[1]), min(int(found[2]), size - 1) if found[2] is not None else size - 1
        if found[2] is not None and int(found[2]) < first:
            return None
        unsatisfiable = first >= size
    if unsatisfiable:
        raise Refusal(416, f"expected a range within {size} bytes, found {asked[:100]}", {"Content-Range": f"bytes */{size}"})
    return first, last - first + 1
