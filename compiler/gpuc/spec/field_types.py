"""Describes the type of each spec field in words: allowed values, the form of texts, and limits of numbers."""

from collections.abc import Iterable
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import Struct
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gpuc.spec import base, charts, cluster_network, metadata, network, node_settings, platform, tenants
from gpuc.spec.field_type import flat
from gpuc.spec.form import Form, Words

Steps = tuple[str, ...]
NAME = "*"
"""A step of a path: a name that the user chooses, for example of a node pool."""
ELEMENT = "[]"
"""A step of a path: an element of a list."""

_NAME = "a name of at most 40 lower-case letters, digits and hyphens, with a letter at the start"
_SIZE = "a size with its unit such as 200Gi"
_SIZE_UNITS = "Ki, Mi, Gi, Ti, k, M, G or T, part of the value"
_WORDS: tuple[tuple[Any, str, str], ...] = (
    (base.Seconds, "a duration with its unit such as 72h or 1h30m", "h, m or s, part of the value"),
    (base.Bytes, _SIZE, _SIZE_UNITS),
    (base.VolumeBytes, _SIZE, _SIZE_UNITS),
    (platform.NodeAgent.model_fields["cpu"], "a number of millicores such as 100m", "m (millicores)"),
    (cluster_network.Cidr, "an IPv4 address range such as 10.20.0.0/16", ""),
    (network.Host, "a host name such as api.example.com, or *.example.com", ""),
    (metadata.LabelKey, "a label key such as example.com/team", ""),
    (metadata.LabelValue, "at most 63 letters, digits, -, _ and . that start and end with a letter or digit", ""),
    (get_args(get_args(metadata.Annotations)[0])[1], "a text", ""),
    (get_args(get_args(tenants.Groups)[0])[0], "the name of a group such as oidc:research", ""),
    (tenants.AccountName, "the name of a ServiceAccount such as trainer, except default", ""),
    (charts.ChartRepository, "a URL that begins with https:// or oci://", ""),
    (node_settings.UserData, "a text of ASCII characters, at most 16 KiB", ""),
)  # fmt: skip
"""Types whose form is checked by a function: the annotation, the type in words, and the unit of the value."""


class FieldType(Struct, frozen=True):
    """The description of a field's type for `gpuc explain` and the reference of the spec language."""

    words: str
    unit: str = ""
    """The unit, if the value contains its unit."""
    models: tuple[tuple[Steps, type[BaseModel]], ...] = ()
    """The models in the value, with the steps from the value to the model."""
    is_number: bool = False
    short_for: str = ""
    """The key of a map whose value may stand for the map."""


def field_type(annotation: Any, constraints: Iterable[Any] = ()) -> FieldType:
    """Returns the description of a type annotation of Python, such as int | None.

    Args:
        constraints: limits and validators of the field that pydantic keeps outside of the annotation.
    """
    given = list(flat(constraints))
    while get_origin(annotation) is Annotated:
        annotation, *more = get_args(annotation)
        given = [*flat(more), *given]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return _union([part for part in arguments if part is not NoneType], given)
    if origin is list:
        return _list(field_type(arguments[0]), given)
    if origin is dict:
        return _map(field_type(arguments[0]), field_type(arguments[1]))
    if origin is Literal:
        return FieldType(_choices(arguments))
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _model(annotation, given)
    return _scalar(annotation, given)


def _union(parts: list[Any], given: list[Any]) -> FieldType:
    if len(parts) == 1:
        return field_type(parts[0], given)
    types = [field_type(part) for part in parts]
    models = tuple({model: (steps, model) for form in reversed(types) for steps, model in form.models}.values())
    words = next((part.words for part in given if isinstance(part, Words)), "")
    return FieldType(words or ", or ".join(form.words for form in types), models=models)


def _list(element: FieldType, given: list[Any]) -> FieldType:
    models = tuple(((ELEMENT, *steps), model) for steps, model in element.models)
    maximum = _limit(given, "max_length")
    length = f" of at most {maximum} elements" if maximum else ""
    if _limit(given, "min_length"):
        length = f" of 1 to {maximum} elements" if maximum else " of at least one element"
    words = f"a list{length}; each element: {element.words}"
    return FieldType(words, element.unit, models, short_for=element.short_for)


def _map(key: FieldType, value: FieldType) -> FieldType:
    models = tuple(((NAME, *steps), model) for steps, model in value.models)
    words = "a map" + (f"; each key: {key.words if key.words != _NAME else 'a name'}" if key.words != "a text" else "")
    words += f"; each value: {value.words}" if value.words != "any value" else ""
    return FieldType(words, value.unit, models, value.is_number, value.short_for)


def _model(model: type[BaseModel], given: list[Any]) -> FieldType:
    models = (((), model),)
    if not issubclass(model, base.Shorthand):
        words = next((part.words for part in given if isinstance(part, Words)), "a map")
        return FieldType(words, models=models)
    return FieldType(f"a map, or only the value of its key {model.short_for}", models=models, short_for=model.short_for)


def _scalar(kind: Any, given: list[Any]) -> FieldType:
    for known, words, unit in _WORDS:
        if any(part in given for part in _identity(known)):
            return FieldType(words, unit)
    if kind is bool:
        return FieldType("true or false")
    if kind in (int, float):
        return FieldType(("a whole number" if kind is int else "a number") + _range(given), is_number=True)
    if kind is Any:
        return FieldType("any value")
    if any(part in given for part in get_args(base.Name) if isinstance(part, Form)):
        return FieldType(_NAME)
    length = _limit(given, "max_length")
    most = f", at most {length} characters" if length else ""
    form = next((part for part in reversed(given) if isinstance(part, Form | Words)), None)
    return FieldType((form.words if form else "a text") + most)


def _identity(known: Any) -> list[Any]:
    """Returns the validators of an annotation: only this type has them."""
    constraints = known.metadata if isinstance(known, FieldInfo) else known.__metadata__
    return [part for part in constraints if type(part).__name__ in {"AfterValidator", "BeforeValidator"}]


def _range(given: list[Any]) -> str:
    least, most = _limit(given, "ge"), _limit(given, "le")
    if least is not None and most is not None:
        return f" from {least} to {most}"
    if _limit(given, "gt") is not None:
        return f" greater than {_limit(given, 'gt')}"
    return f" of at least {least}" if least is not None else f" of at most {most}" if most is not None else ""


def _limit(given: list[Any], name: str) -> Any:
    return next((value for part in given if (value := getattr(part, name, None)) is not None), None)


def _choices(values: Iterable[Any]) -> str:
    words = ["true" if value is True else str(value) for value in values]
    return words[0] if len(words) == 1 else f"one of {', '.join(words[:-1])} and {words[-1]}"
