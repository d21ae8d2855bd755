"""The text of `gpuc explain PATH`: describes a field of the spec, or a section with its fields."""

import json
import re
from textwrap import fill
from typing import Any

from gpuc.diagnostics.spelling import nearest
from gpuc.diagnostics.usage import UsageError
from gpuc.diagnostics.words import shortened
from gpuc.spec.corrected import in_flow_style
from gpuc.spec.field_types import ELEMENT, Steps
from gpuc.spec.reference import Field, children, effects, field_at, fields, named, path_text

_WIDTH = 100
_EXAMPLE_MAX = 90
"""The largest length of an example on one line."""


def explain_field(text: str) -> str:
    """Returns the description of a field or a section of the spec.

    Args:
        text: a path such as pools.nodes.max, pools.*.nodes.max or, with the name of a pool, pools.train.nodes.max.

    Raises:
        UsageError: when the spec has no field at the path.
    """
    steps = find(text)
    if steps is None:
        raise UsageError(f"the spec has no field {text}{_suggestion(text)}; `gpuc explain spec` lists the sections")
    parts = [named(path_text(steps))]
    if (field := fields().get(steps)) is not None:
        parts += [_wrapped(field.description), _facts(field)]
    below = children(steps)
    if below:
        width = max(len(_below(steps, field)) for field in below)
        lines = [f"    {_below(steps, field):<{width}}  {first_sentence(field)}" for field in below]
        parts.append("Fields:\n" + "\n".join(shortened(line, _WIDTH + 20) for line in lines))
    return "\n\n".join(parts) + "\n"


def find(text: str) -> Steps | None:
    """Returns the keys that lead to a field or section, given its path; None if the spec has no such path."""
    for steps, field in fields().items():
        if _plain(field.path) == _plain(text):
            return steps
    path = [step for step in text.replace("[", ".").replace("]", "").split(".") if step]
    for start in (["spec"], []):
        found = field_at([*start, *path])
        if found is not None and (found[0] in fields() or children(found[0])):
            return _section(found[0])
    return None


def _section(steps: Steps) -> Steps:
    """Returns the steps of the field that contains the elements or the map."""
    while steps not in fields() and len(steps) > 1:
        steps = steps[:-1]
    return steps


def _suggestion(text: str) -> str:
    """Returns the path that was probably meant: one with the same last key, or one with a similar text."""
    last = text.rpartition(".")[2]
    paths = [field.path for field in fields().values()]
    same = [path for path in paths if path.rpartition(".")[2].casefold() == last.casefold()]
    close = nearest(text.removeprefix("spec."), same or paths) or nearest(
        _plain(text), [_plain(path) for path in paths]
    )
    if not close and same:
        close = same[0]
    return f" (did you mean {named(close)}?)" if close else ""


def _plain(path: str) -> str:
    """Returns the path without the steps that are no keys of the language."""
    return re.sub(r"\.(\*|<[^.<>]*>)", "", path.removeprefix("spec.")).replace(ELEMENT, "")


def _below(steps: Steps, field: Field) -> str:
    below = named(field.path)
    return below.removeprefix(named(path_text(steps))).lstrip(".") if steps != ("spec",) else below


def _facts(field: Field) -> str:
    """Returns the type, unit, default, example and effect of a field, one for each line."""
    entry = effects().get(field.path, {})
    rows = [("Type", field.type), ("Unit", field.unit), ("Default", field.default)]
    if "example" in entry:
        rows.append(("Example", example(field, entry)))
    lines = [_filled(value, f"{name + ':':<9} ", " " * 10) for name, value in rows if value]
    if not field.is_section:
        lines += effect_lines(entry)
    return "\n".join(lines)


def effect_lines(entry: dict[str, Any]) -> list[str]:
    """Returns the lines about what changes in out/ when a field changes, from the field's entry in effects.json."""
    if "effects" not in entry:
        return [f"Effect:   {reason(entry)}"]
    rows = [(described(kind, file), ", ".join(names)) for kind, file, *names in entry["effects"]]
    lines = ["Effect in out/CLUSTER/ of a change:"]
    for place, names in rows:
        lines.append(f"    {place}")
        if names:
            lines.append(_filled(names, " " * 8, " " * 8))
    return lines + ([f"    and {entry['more']} more fields"] if "more" in entry else [])


def reason(entry: dict[str, Any]) -> str:
    """Returns why an entry of effects.json has no effects."""
    return str(entry.get("why", "not measured: no example spec sets this field"))


def described(kind: str, file: str) -> str:
    """Returns a text such as "NodePool in nodes.yaml"; only the name of the file if the kind is empty."""
    return f"{kind} in {file}" if kind else file


def example(field: Field, entry: dict[str, Any]) -> str:
    """Returns the example in an entry of effects.json as YAML, followed by the name of the spec that contains it."""
    file = f"   ({entry['file']})" if "file" in entry else ""
    key = [step for step in field.steps if step.isidentifier()][-1]
    return shortened(f"{key}: {in_flow_style(entry['example'], _quoted)}", _EXAMPLE_MAX) + file


def _quoted(text: str) -> str:
    """Returns a text with quotes only where YAML needs them."""
    has_signs = set(text) & set(",[]{}#:\n\"'&*!|>%@`") or text in ("true", "false", "null")
    return text if text[:1].isalpha() and text.isascii() and not has_signs else json.dumps(text)


def first_sentence(field: Field) -> str:
    """Returns the first sentence of the field's description, without the period."""
    text = " ".join(field.description.split("\n\n")[0].split())
    return text.split(". ")[0].removesuffix(".")


def _wrapped(text: str) -> str:
    parts = [" ".join(part.split()) for part in text.split("\n\n")]
    return "\n\n".join(_filled(part) for part in parts)


def _filled(text: str, first: str = "", next_: str = "") -> str:
    """Returns the text in lines that begin with `first` and `next_`. Long paths stay on one line."""
    return fill(
        text, _WIDTH, initial_indent=first, subsequent_indent=next_, break_long_words=False, break_on_hyphens=False
    )
