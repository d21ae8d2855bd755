"""docs/reference.md: all fields of the spec. `make generate` writes the page: python -m tests.derive.reference_page."""

import sys
from collections.abc import Iterator
from typing import Any

from gpuc.spec.reference import Field, children, effects, fields, named
from gpuc.spec.reference_text import described, example, first_sentence, reason

_HEAD = """# Reference of the spec

All fields of the spec language. `gpuc explain pools.nodes.max` prints the same text in the terminal.

- Paths begin below `spec`. `<pool>` is the name of a pool in your spec, `[]` is an element of a list.
- "Default: required" means that the spec has to contain the field if it contains the section of the field.
- The effect of a field is measured: it lists what changes in `out/CLUSTER/` if the field changes in an example spec.
  `*` in the effect is a name from the spec. The folder `clusters/` is beside `out/`. A field without an effect is one
  that only rules of gpuc read.

`make generate` writes this page from the models in compiler/gpuc/spec/. Do not edit the page.
"""


def page() -> str:
    """Returns the text of docs/reference.md."""
    sections = [("The file", [field for field in fields().values() if field.steps[0] != "spec"])]
    loose = [field for field in children(("spec",)) if not field.is_section]
    sections.append(("The cluster", loose))
    for top in children(("spec",)):
        if top.is_section:
            inner = [field for field in fields().values() if field.steps[:2] == top.steps]
            sections.append((top.path, inner))
    parts = [_HEAD, "## Contents\n\n" + "".join(_contents(title, inner) for title, inner in sections)]
    for title, inner in sections:
        parts.append(f"## {title}\n")
        parts += ["\n".join(_field(field)) + "\n" for field in inner]
    return "\n".join(parts)


def _contents(title: str, inner: list[Field]) -> str:
    anchor = title.lower().replace(" ", "-")
    words = ", ".join(f"`{field.path}`" for field in inner) if " " in title else first_sentence(inner[0])
    return f"- [{title}](#{anchor}): {words}\n"


def _field(field: Field) -> Iterator[str]:
    """Yields the lines about a field."""
    entry = effects().get(field.path, {})
    yield f"### `{named(field.path)}`\n"
    yield f"{_text(field.description)}\n"
    yield f"- Type: {_text(field.type)}"
    if field.unit:
        yield f"- Unit: {field.unit}"
    yield f"- Default: {_text(field.default)}"
    if "example" in entry:
        text, _, file = example(field, entry).partition("   ")
        yield f"- Example: `{text}`" + (f" in {file.strip('()')}" if file else "")
    if not field.is_section:
        yield from _effect(entry)


def _effect(entry: dict[str, Any]) -> Iterator[str]:
    if "effects" not in entry:
        yield f"- Effect: {reason(entry)}"
        return
    yield "- Effect in `out/CLUSTER/`:"
    for kind, file, *names in entry["effects"]:
        listed = ", ".join(name if name.startswith("and ") else f"`{name}`" for name in names if name)
        yield f"  - {described(kind, f'`{file}`')}" + (f": {listed}" if listed else "")
    if "more" in entry:
        yield f"  - and {entry['more']} more fields"


def _text(text: str) -> str:
    """Returns the text without Markdown, except code in backticks and paragraphs."""
    parts = text.split("`")
    plain = [part.replace("*", "\\*").replace("<", "&lt;") for part in parts[::2]]
    code = [f"`{part}`" for part in parts[1::2]]
    return "".join(words + two for words, two in zip(plain, [*code, ""], strict=True))


if __name__ == "__main__":
    sys.stdout.write(page())
