"""What gpuc knows about a kind of fault: what it is, why it matters, its source, and an example."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from gpuc.diagnostics.finding import RULES, Rule
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import UsageError

_PACKAGE = Path(__file__).parents[2]
_EXTENDS = re.compile(r"^extends: \[(.+)\]\n", re.MULTILINE)


def explain(id: str) -> str:  # noqa: A002
    """The explanation of the fault with the id, which may be written as kue-004.

    Raises:
        UsageError: when no fault has the id.
    """
    wanted = id.upper().replace("-", "")
    found = _declared(wanted) or every_rule().get(wanted)
    if found is None:
        raise UsageError(f"no fault has the id {id}{did_you_mean(wanted, RULES)}; `gpuc explain` lists all")
    parts = [f"{found.id} ({found.severity.value}): {found.title}", _filled(found.why)]
    if found.source:
        parts.append(f"Source: {found.source}")
    parts += _examples(found.id)
    return "\n\n".join(part for part in parts if part) + "\n"


def listing() -> str:
    """Every fault in one line: id, severity and title."""
    faults = every_rule()
    return "".join(f"{one.id}  {one.severity.value:<7}  {one.title}\n" for _, one in sorted(faults.items()))


def every_rule() -> dict[str, Rule]:
    """All faults of the package by id: those that a run has not needed yet are imported first."""
    from pkgutil import walk_packages

    import gpuc

    for module in walk_packages(gpuc.__path__, "gpuc.", onerror=_refuse):
        if not module.name.endswith(".__main__"):
            import_module(module.name)
    return RULES


def _declared(id: str) -> Rule | None:  # noqa: A002
    """The fault with an id, of which only the modules that have the id in their text are imported."""
    if not re.fullmatch(r"[A-Z]+\d{3}", id):
        return None
    for file in sorted(_PACKAGE.rglob("*.py")):
        if id not in RULES and f'"{id}"' in file.read_text(encoding="utf-8"):
            steps = ["gpuc", *file.relative_to(_PACKAGE).with_suffix("").parts]
            import_module(".".join(step for step in steps if step != "__init__"))
    return RULES.get(id)


def _examples(id: str) -> Iterator[str]:  # noqa: A002
    """A good and a bad part of the case file that shows the fault; of objects, the complete file."""
    for file in sorted(_PACKAGE.rglob("*.yaml")):
        text = file.read_text(encoding="utf-8")
        if not re.search(rf"#! {id}$", text, re.MULTILINE):
            continue
        if not _EXTENDS.search(text):
            yield f"Example, good and bad:\n\n{_shown(text, id)}"
            return
        parts = re.split(r"^---\n", text, flags=re.MULTILINE)
        good = next(part for part in parts if f"#! {id}" not in part)
        bad = next(part for part in parts if f"#! {id}" in part)
        yield f"Good{_where(good)}:\n\n{_shown(good, id)}"
        yield f"Bad{_where(bad)}:\n\n{_shown(bad, id)}"
        return


def _where(part: str) -> str:
    found = _EXTENDS.search(part)
    return f", in a spec that extends {found[1]}" if found else ""


def _shown(part: str, id: str) -> str:  # noqa: A002
    text = _EXTENDS.sub("", part).replace(f"#! {id}", f"# <- {id} is reported here")
    return "\n".join(f"    {line}".rstrip() for line in (text.strip() or "(nothing more)").splitlines())


def _refuse(name: str) -> None:
    raise ImportError(f"{name} cannot be imported")


def _filled(text: str) -> str:
    from textwrap import fill

    return "\n".join(fill(line, 100, break_long_words=False, break_on_hyphens=False) for line in text.splitlines())
