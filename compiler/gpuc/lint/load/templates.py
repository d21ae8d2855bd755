"""Parses texts as YAML, and decides whether a text is a template of Helm or Jinja instead."""

import os
import re
from functools import lru_cache
from typing import Any

from gpuc.documents.reader import UNREADABLE, YamlText, read

_BRACES = re.compile(r"^\s*(?:- )?(?:\{\{|\{%)|[:-]\s+\{\{|^\s*\$\{[^}\n]*\}\s*$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{|\{%|%\{|\$\{(?!\w+\})|<%|%\w+%")
"""The signs of Go, Jinja, Terraform and ERB templates, and of a name that a script replaces."""


def documents_of(text: str, file: str) -> YamlText:
    """Returns the YAML documents of a text. Texts that differ only in a comment in their first line are parsed once."""
    found = _parsed(text.partition("\n")[2] if text.startswith("#") else text)
    return read(text, file) if found.findings else found


@lru_cache(maxsize=512)
def _parsed(text: str) -> YamlText:
    return read(text, "")


def is_template(file: str, text: str, parsed: YamlText) -> bool:
    """Returns whether a text is a template: braces make the text invalid YAML, or are outside of strings.

    A file in the folder "templates" of a chart is also a template if the file is not valid YAML.
    """
    errors = [finding.mark for finding in parsed.findings if finding.id == UNREADABLE.id and finding.mark]
    if errors:
        lines = text.splitlines()
        near = (line for mark in errors for line in lines[mark.line - 1 : mark.line])
        folder, _, _ = file.replace(os.sep, "/").rpartition("/templates/")
        is_of_chart = bool(folder) and os.path.exists(os.path.join(folder, "Chart.yaml"))
        return is_of_chart or bool(_BRACES.search(text)) or any(map(_PLACEHOLDER.search, near))
    return (
        ("{{" in text or "{%" in text)
        and bool(_BRACES.search(text))
        and any(_has_map_as_key(data) for _, data in parsed.documents)
    )


def _has_map_as_key(value: Any) -> bool:
    """Returns whether a map in the value has a map as a key, which is how YAML reads `{{ name }}`."""
    if isinstance(value, dict):
        return "?" in value or any(_has_map_as_key(child) for child in value.values())
    return isinstance(value, list) and any(_has_map_as_key(item) for item in value)
