"""Which of the forms that there are does a client want? Accept, or ?format=, which wins."""

from collections.abc import Mapping

from api.problems import Refusal


def chosen(accept: str | None, offers: Mapping[str, str], named: str | None = None) -> str:
    """The name of the form to give; offers: name -> media type, the first being what is given to who does not say. Raises Refusal (406)."""
    if named is not None:
        return named
    if accept is None or not accept.strip():
        return next(iter(offers))
    best: tuple[float, str] | None = None
    for name, media_type in offers.items():
        weight = _weight(accept, media_type)
        if weight > 0 and (best is None or weight > best[0]):
            best = (weight, name)
    if best is None:
        raise Refusal(406, f"expected one of {', '.join(offers.values())} in Accept, found {accept[:100]}")
    return best[1]


def _weight(accept: str, media_type: str) -> float:
    """What the most exact range of the header that covers the media type gives it; 0 where none does."""
    family = media_type.partition("/")[0]
    ranks = {media_type.partition(";")[0]: 3, f"{family}/*": 2, "*/*": 1}
    best, weight = 0, 0.0
    for part in accept.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        if (rank := ranks.get(name, 0)) > best:
            best, weight = rank, _quality(parameters)
    return weight


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return min(max(float(value), 0.0), 1.0)
            except ValueError:
                return 0.0
    return 1.0
