"""The base class of all spec models, and types of values that many fields have, such as names."""

import os
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError

from gpuc.diagnostics.unknown import UnknownValueError
from gpuc.kubernetes.amounts import GIB
from gpuc.kubernetes.duration import format_duration, parse_duration
from gpuc.kubernetes.quantity import format_quantity, parse_quantity
from gpuc.spec.form import Form, Synonyms, Words, hyphenated, text_error

# By default Pydantic searches every installed distribution for plugins. gpuc needs no plugins.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


class SpecModel(BaseModel):
    """Base class of all maps in the spec. A map with an unknown key is invalid. Parsed values do not change."""

    in_messages: ClassVar[str] = ""
    """A short valid map for messages; an empty string if there is none."""

    instead: ClassVar[Mapping[str, str]] = {}
    """What to write instead of a key that the map does not have, but that users expect."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        defer_build=True,  # the model of the root builds the validators of its sections; most row models need none
        alias_generator=to_camel,
        protected_namespaces=(),
    )

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raises an UnknownValueError for a field without a value: in a spec with errors, the field is unknown."""
            if name in type(self).model_fields:
                raise UnknownValueError
            return super().__getattr__(name)


class OneOf(SpecModel):
    """A map of the spec that has exactly one of several optional keys, for example `max` or `static` in `nodes`."""

    one_of: ClassVar[tuple[str, ...]]
    """The names of the fields, as in Python."""

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        known = type(self).model_fields
        present = [field for field in self.one_of if getattr(self, field) is not None]
        if len(present) != 1:
            *first, last = (known[field].alias or field for field in present or self.one_of)
            problem = "exclude each other" if present else "are missing"
            raise ValueError(f"{', '.join(first)} and {last} {problem}; expected one of them")
        return self


class Shorthand(SpecModel):
    """A map that users may write as a single value: `secret: gpu-slack` is short for `secret: {name: gpu-slack}`."""

    short_for: ClassVar[str]
    """The key that has the word as its value."""

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        return {cls.short_for: value} if isinstance(value, str) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        full = handler.resolve_ref_schema(handler(core))
        word = dict(full.get("properties", {}).get(cls.short_for, {"type": "string"}))
        return {"anyOf": [word, full], "description": cls.__doc__ or ""}


NO_UNIT = "no_unit"
"""The type of Pydantic's error for a number without its required unit."""
_UNITS = {
    ("s", "sec", "secs", "second", "seconds"): 1,
    ("m", "min", "mins", "minute", "minutes"): 60,
    ("h", "hr", "hrs", "hour", "hours"): 3600,
    ("d", "day", "days"): 86_400,
    ("w", "week", "weeks"): 604_800,
}
"""Seconds by the names of a unit of time."""
_MAX_GIB = 65_536
"""The size of the largest EBS volume."""


def _seconds(value: Any) -> Any:
    if _is_number(value):
        digits = str(value).strip()
        choices = f"{digits}h, {digits}m or {digits}s" if digits.isdecimal() else "as in 24h"
        expected = f"a duration with its unit: {choices}"
        raise PydanticCustomError(NO_UNIT, "{expected}", {"expected": expected, "suggestion": ""})
    if not isinstance(value, str):
        return value
    try:
        return parse_duration(value)
    except ValueError:
        raise text_error("hours, minutes and seconds as in 72h, 30m or 1h30m", _duration_in_hours(value)) from None


def _duration_in_hours(text: str) -> str:
    """Returns a duration in days, weeks or words as hours, minutes and seconds; an empty string for other texts."""
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s*([a-z]+)", text.strip().lower())
    names = [unit for unit in _UNITS if match and match[2] in unit]
    if not match or not names:
        return ""
    seconds = Fraction(match[1]) * _UNITS[names[0]]
    return format_duration(int(seconds)) if seconds.denominator == 1 and seconds > 0 else ""


def _volume_bytes(value: Any) -> Any:
    return _size(value, _with_unit(value) if _is_number(value) else "")


def _size(value: Any, suggestion: str) -> Any:
    """Returns a size in bytes. `suggestion` is the size with its unit, for a number without a unit."""
    if _is_number(value):
        raise PydanticCustomError(
            NO_UNIT, "{expected}", {"expected": "a size with its unit, as in 200Gi", "suggestion": suggestion}
        )
    if not isinstance(value, str):
        return value
    try:
        return int(parse_quantity(value))
    except ValueError:
        raise text_error("a size such as 200Gi", _size_with_suffix(value)) from None


def _size_with_suffix(text: str) -> str:
    """Returns the same size with a suffix of Kubernetes, such as 500G for 500GB; an empty string for other texts."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgtpe])(i?)b?", text.strip().lower())
    if not match:
        return ""
    letter = match[2] if match[2] == "k" and not match[3] else match[2].upper()
    return f"{match[1]}{letter}{match[3]}"


def _is_number(value: Any) -> bool:
    """Returns whether a value is a number without a unit, in quotes or not."""
    if isinstance(value, str):
        return value.strip().replace(".", "", 1).isdigit()
    return isinstance(value, int | float) and not isinstance(value, bool)


def _with_unit(value: Any) -> str:
    """Returns the volume size for a number without a unit, or an empty string if the unit is not certain."""
    try:
        size = int(value)
    except ValueError:
        return ""
    if size >= GIB:
        return format_quantity(size, "binary") if size % GIB == 0 else ""
    return f"{size}Gi" if 1 <= size <= _MAX_GIB else ""


Seconds = Annotated[
    int,
    BeforeValidator(_seconds),
    Field(gt=0),
    WithJsonSchema({"type": "string", "pattern": r"^(\d+[hms])+$"}),
    Words("a duration such as 72h"),
]
"""A duration such as 72h or 1h30m, in seconds."""

_SIZE_SCHEMA = WithJsonSchema({"type": "string", "pattern": r"^\d+(\.\d+)?(k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)$"})

Bytes = Annotated[
    int, BeforeValidator(lambda value: _size(value, "")), Field(gt=0), _SIZE_SCHEMA, Words("a size such as 200Gi")
]
"""A size such as 200Gi, in bytes."""

VolumeBytes = Annotated[int, BeforeValidator(_volume_bytes), Field(gt=0), _SIZE_SCHEMA, Words("a size such as 200Gi")]
"""The size of a volume such as 200Gi, in bytes. A number without a unit is probably in GiB."""

Name = Annotated[
    str,
    Form(
        r"^[a-z]([a-z0-9-]*[a-z0-9])?$",
        "a name of lower-case letters, digits and hyphens, with a letter at the start",
        hyphenated,
    ),
    Field(max_length=40),
]
"""A name that becomes part of object names and label values: lower-case letters, digits and hyphens."""

TextLine = Annotated[
    str,
    Form(r"^[^\x00-\x1f\x7f]+$", "a text on one line, without control characters"),
    Field(min_length=1, max_length=400),
]
"""Free text on one line."""

Reason = Annotated[
    str,
    Form(r"^[^\x00-\x1f\x7f]+$", "the reason, a text on one line"),
    Field(min_length=1, max_length=400),
]
"""The reason of a setting, which reviewers read. Free text on one line."""

Purchase = Annotated[Literal["reserved", "spot", "on-demand"], Synonyms((("capacity-block", "reserved"),))]
"""A way to buy an instance."""

Count = Annotated[int, Field(ge=1, le=100_000)]
"""An integer, at least 1."""

Accept = Annotated[
    dict[Annotated[str, Form(r"^[A-Z]{2,4}\d{3}$", "the id of a rule such as KRP004", str.upper)], Reason],
    Words("a map of reasons by rule id such as {KRP004: more nodes are ordered}"),
]
"""Reasons by rule id. gpuc accepts findings of the rule in the map that contains `accept`, and below the map."""
