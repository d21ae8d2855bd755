"""Small CRDs with one CEL rule, and values that an API server accepts or refuses (see the conformance tests)."""

from pathlib import Path
from typing import Any

import yaml

from tests.lint.definitions import TEXT, Case, rule


def _schema(written: Any) -> Any:
    """Returns the schema of a case file: TEXT is a type, and `rule` one CEL rule or its text."""
    if written == "TEXT":
        return TEXT
    if not isinstance(written, dict):
        return [_schema(item) for item in written] if isinstance(written, list) else written
    schema = {key: _schema(value) for key, value in written.items() if key != "rule"}
    if schema.get("type") == TEXT:
        schema |= TEXT
    if "rule" in written:
        text = written["rule"]
        schema |= {"x-kubernetes-validations": [text]} if isinstance(text, dict) else rule(text)
    return schema


def _cases(chapter: str) -> tuple[Case, ...]:
    rows = [{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
            for row in _CHAPTERS[chapter]]  # fmt: skip
    return tuple(Case(**{**row, "schema": _schema(row["schema"])}) for row in rows)


_CHAPTERS = yaml.safe_load((Path(__file__).parent / "rule_cases.yaml").read_text(encoding="utf-8"))
OF_ERRORS = _cases("where a rule fails, and functions that are not evaluated")
CASES = tuple(case for chapter in _CHAPTERS for case in _cases(chapter))
