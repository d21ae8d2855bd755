"""The form of a text: a pattern for the JSON Schema, and words for messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

TEXT = "text"
"""The type of Pydantic's error for a value without the form of its field, see `text_error`."""


def text_error(expected: str, suggestion: str = "", actual: str = "") -> PydanticCustomError:
    """Returns the error for a value that does not have the form of its field.

    Args:
        expected: the form in words.
        suggestion: the value in this form, if it is certain.
        actual: the value in words. Default: the value.
    """
    return PydanticCustomError(TEXT, "{expected}", {"expected": expected, "suggestion": suggestion, "actual": actual})


def _unchanged(text: str) -> str:
    return text


@dataclass(frozen=True)
class Form:
    """The form of a text, as an annotation of str."""

    pattern: str
    """A regular expression that the complete text has to match, from ^ to $."""
    words: str
    """The form in words, with an example."""
    normalize: Callable[[str], str] = _unchanged
    """Returns a text for a wrong text. Messages suggest the result if it has the form."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(core) | {"pattern": self.pattern, "patternErrorMessage": f"expected {self.words}"}

    def check(self, text: str | None) -> str | None:
        """Returns the text; None, which an optional field allows, stays None.

        Raises:
            PydanticCustomError: when the text does not have the form.
        """
        if text is None or self._fits(text):
            return text
        suggestion = self.normalize(text)
        if not self._fits(suggestion):
            raise text_error(self.words)
        is_number = suggestion.replace(".", "").isdecimal()  # as YAML reads the text without quotes
        raise text_error(self.words, f'"{suggestion}"' if is_number else suggestion)

    def _fits(self, text: str) -> bool:
        return re.fullmatch(self.pattern.removeprefix("^").removesuffix("$"), text) is not None


def hyphenated(text: str) -> str:
    """Returns the text in lower case, with a hyphen in place of characters that are neither letters nor digits."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
