"""The form of a text, for example of a name: a pattern for the JSON Schema, and a description for messages."""

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

TEXT = "text"
"""The type of Pydantic's error for a value without the form of its field, see `text_error`."""


def text_error(expected: str, suggestion: str = "", actual: str = "") -> PydanticCustomError:
    """Returns pydantic's error for a value that does not have the form of its field.

    Args:
        expected: a description of the form, with an example.
        suggestion: the corrected value; empty if gpuc knows none.
        actual: a description of the wrong value. Default: the value itself.
    """
    return PydanticCustomError(TEXT, "{expected}", {"expected": expected, "suggestion": suggestion, "actual": actual})


class Form(Struct, frozen=True):
    """The form that a text must have. Fields have it in their annotation: Annotated[str, Form(pattern, words)]."""

    pattern: str
    """A regular expression that the complete text has to match, from ^ to $."""
    words: str
    """The form in words, with an example."""
    normalize: Callable[[str], str] = str
    """Returns a text for a wrong text, by default the same text. Messages suggest the result if it has the form."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(core) | {"pattern": self.pattern, "errorMessage": f"expected {self.words}"}

    def check(self, text: str | None) -> str | None:
        """Returns the text if it has the form. Returns None for None, which an optional field allows.

        Raises:
            PydanticCustomError: when the text does not have the form.
        """
        if text is None or self._fits(text):
            return text
        suggestion = self.normalize(text)
        raise text_error(self.words, suggestion if self._fits(suggestion) else "")

    def _fits(self, text: str) -> bool:
        return re.fullmatch(self.pattern.removeprefix("^").removesuffix("$"), text) is not None


class Words(Struct, frozen=True):
    """The description of a type in messages. Fields have it in their annotation if the type has no Form."""

    words: str
    """The expected value in words, with an example."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core)
        return schema | {"errorMessage": f"expected {self.words}"} if schema.get("type") == "string" else schema


class Synonyms(Struct, frozen=True):
    """The words that other programs use for the allowed values of a field. gpuc suggests the allowed value instead."""

    choices: tuple[tuple[str, str], ...]
    """Synonyms in lower case, each with its choice."""


def hyphenated(text: str) -> str:
    """Returns a text as a name: lower case, no accents, and a hyphen for all other characters than a to z and digits.

    The result is empty if the text has letters that are not Latin.
    """
    from unicodedata import combining, normalize  # imported here, because a correct spec needs no suggestion

    latin = "".join(char for char in normalize("NFKD", text.casefold()) if not combining(char))
    return re.sub(r"[^a-z0-9]+", "-", latin).strip("-") if latin.isascii() else ""
