"""Values of options of the AWS CLI: JSON, or the shorthand syntax `key=value,list=[a,b],map={key=value}`.

Source of the syntax: AWS CLI 1.46.3, awscli/shorthand.py and awscli/argprocess.py.
"""

import json
import re
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

Value = Any
_KEY = re.compile(r"[\w.#/:-]+")
_KEY_AND_SIGN = re.compile(r"[\w.#/:-]+=")


class ValueProblem(Exception):
    """A value that has another form than its parameter. The message says what is wrong."""


def value(texts: list[str], shape: Shape) -> Value:
    """The value of an option in the form that botocore expects.

    Raises:
        ValueProblem: if the arguments do not have the syntax or the types of the shape.
    """
    if len(texts) == 1 and texts[0][:1] in ("[", "{") and not _is_scalar(shape):
        try:
            return json.loads(texts[0])
        except json.JSONDecodeError as error:
            raise ValueProblem(f"{texts[0]} is not JSON: {error}") from error
    if isinstance(shape, ListShape):
        return [value([text], shape.member) for text in texts]
    if len(texts) != 1:
        raise ValueProblem(f"found {len(texts)} values, expected 1")
    return _scalar(texts[0], shape) if _is_scalar(shape) else _typed(_Shorthand(texts[0]).parsed(), shape)


def _is_scalar(shape: Shape) -> bool:
    return shape.type_name not in ("structure", "list", "map")


def _scalar(text: str, shape: Shape) -> Value:
    try:
        match shape.type_name:
            case "boolean":
                return {"true": True, "false": False}[text.lower()]
            case "integer" | "long":
                return int(text)
            case "float" | "double":
                return float(text)
    except (KeyError, ValueError) as error:
        raise ValueProblem(f"{text} is not of the type {shape.type_name}") from error
    return text


def _typed(found: Value, shape: Shape) -> Value:
    """Gives the texts of the shorthand syntax the types of the shape. Unknown members stay, for the validation."""
    if isinstance(shape, StructureShape) and isinstance(found, dict):
        return {key: _typed(v, shape.members[key]) if key in shape.members else v for key, v in found.items()}
    if isinstance(shape, MapShape) and isinstance(found, dict):
        return {key: _typed(v, shape.value) for key, v in found.items()}
    if isinstance(shape, ListShape):
        return [_typed(v, shape.member) for v in (found if isinstance(found, list) else [found])]
    return _scalar(found, shape) if isinstance(found, str) and _is_scalar(shape) else found


class _Shorthand:
    """A parser of one argument."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parsed(self) -> dict[str, Value]:
        found = self._pairs(end="")
        if self._at < len(self._text):
            raise ValueProblem(f"{self._text} has text after its end: {self._text[self._at :]}")
        return found

    def _pairs(self, end: str) -> dict[str, Value]:
        found: dict[str, Value] = {}
        while True:
            key = _KEY.match(self._text, self._at)
            if not key:
                raise ValueProblem(f"{self._text} needs `key=value` at character {self._at + 1}")
            self._at = key.end()
            self._expect("=")
            found[key[0]] = self._value(f",{end}") if end else self._values()
            if self._next() != ",":
                return found
            self._at += 1

    def _values(self) -> Value:
        """A value, or the list `a,b` without brackets, which only a value outside of all brackets can be."""
        found = [self._value(",")]
        while self._next() == "," and not _KEY_AND_SIGN.match(self._text, self._at + 1):
            self._at += 1
            found.append(self._value(","))
        return found if len(found) > 1 else found[0]

    def _value(self, ends: str) -> Value:
        match self._next():
            case "[":
                self._at += 1
                items: list[Value] = []
                while self._next() != "]":
                    items.append(self._value(",]"))
                    if self._next() != "]":
                        self._expect(",")
                self._at += 1
                return items
            case "{":
                self._at += 1
                pairs = self._pairs(end="}")
                self._expect("}")
                return pairs
            case "'" | '"' as quote:
                close = self._text.find(quote, self._at + 1)
                if close < 0:
                    raise ValueProblem(f"{self._text} has no closing {quote}")
                text, self._at = self._text[self._at + 1 : close], close + 1
                return text
        start = self._at
        while self._at < len(self._text) and self._text[self._at] not in ends:
            self._at += 1
        return self._text[start : self._at]

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _expect(self, sign: str) -> None:
        if self._next() != sign:
            raise ValueProblem(f"{self._text} needs {sign!r} at character {self._at + 1}")
        self._at += 1
