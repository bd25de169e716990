"""What does a short form in a plan stand for? A kind may take `linux-htb` for {name: linux-htb, model: linux-htb}: its model says so."""

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

_LISTS = (list, tuple, set, frozenset)


def written_out(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    """The plan with every short form written out; whatever the model does not understand stays as it is."""
    made = dict(data)
    for name, field in model.model_fields.items():
        key = field.alias or name
        if key in made:
            made[key] = _value(field.annotation, made[key])
            if _is_short(field.annotation, made[key]):
                made[key] = _by_whole(model, data, name, made[key])
    return made


def _value(annotation: Any, value: Any) -> Any:
    if value is None:
        return None
    for one in _alternatives(annotation):
        origin, arguments = get_origin(one), [argument for argument in get_args(one) if argument is not Ellipsis]
        if isinstance(one, type) and issubclass(one, BaseModel):
            return written_out(one, value) if isinstance(value, Mapping) else _by_model(one, value)
        if isinstance(value, list) and origin in _LISTS and arguments:
            places = arguments if origin is tuple and len(arguments) == len(value) else [arguments[0]] * len(value)
            return [_value(of, item) for of, item in zip(places, value, strict=True)]
        if isinstance(value, Mapping) and isinstance(origin, type) and issubclass(origin, Mapping) and len(arguments) == 2:
            return {key: _value(arguments[1], item) for key, item in value.items()}
    return value


def _by_model(model: type[BaseModel], value: Any) -> Any:
    try:
        return model.model_validate(value).model_dump(mode="json", by_alias=True, exclude_unset=True)
    except ValidationError:
        return value


def _by_whole(model: type[BaseModel], data: Mapping[str, Any], name: str, value: Any) -> Any:
    """What the field holds once the whole part is read: a part may understand words for one of its fields."""
    try:
        read = model.model_validate(data).model_dump(mode="json", include={name}, exclude_unset=True)
    except ValidationError:
        return value
    return read.get(name, value)


def _is_short(annotation: Any, value: Any) -> bool:
    """True where a scalar stands for something that is none."""
    return value is not None and not isinstance(value, Mapping | list) and all(_is_container(one) for one in _alternatives(annotation))


def _is_container(annotation: Any) -> bool:
    origin = get_origin(annotation)
    if origin is None:
        return isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return origin in _LISTS or (isinstance(origin, type) and issubclass(origin, Mapping))


def _alternatives(annotation: Any) -> Iterator[Any]:
    """The members of a union without None, or the annotation itself; what Annotated adds is left out."""
    if hasattr(annotation, "__metadata__"):
        yield from _alternatives(annotation.__origin__)
    elif get_origin(annotation) in {Union, UnionType}:
        for one in get_args(annotation):
            yield from _alternatives(one)
    elif annotation is not type(None):
        yield annotation
