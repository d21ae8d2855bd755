"""What gpuc knows about a kind of fault: what it is, why it matters, and who says so."""

from __future__ import annotations

from gpuc.diagnostics.finding import FAULTS, Fault
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import UsageError


def explain(id: str) -> str:  # noqa: A002
    """The explanation of the fault with the id, which may be written as kue-004.

    Raises:
        UsageError: when no fault has the id.
    """
    faults = every_fault()
    wanted = id.upper().replace("-", "")
    found = faults.get(wanted)
    if found is None:
        raise UsageError(f"no fault has the id {id}{did_you_mean(wanted, faults)}; `gpuc explain` lists all")
    parts = [f"{found.id} ({found.severity.value}): {found.title}", _filled(found.why)]
    if found.source:
        parts.append(f"Source: {found.source}")
    return "\n\n".join(part for part in parts if part) + "\n"


def listing() -> str:
    """Every fault in one line: id, severity and title."""
    faults = every_fault()
    return "".join(f"{one.id}  {one.severity.value:<7}  {one.title}\n" for _, one in sorted(faults.items()))


def every_fault() -> dict[str, Fault]:
    """All faults of the package by id: those that a run has not needed yet are imported first."""
    from importlib import import_module
    from pkgutil import walk_packages

    import gpuc

    for module in walk_packages(gpuc.__path__, "gpuc.", onerror=_refuse):
        if not module.name.endswith(".__main__"):
            import_module(module.name)
    return FAULTS


def _refuse(name: str) -> None:
    raise ImportError(f"{name} cannot be imported")


def _filled(text: str) -> str:
    from textwrap import fill

    return "\n".join(fill(line, 100, break_long_words=False, break_on_hyphens=False) for line in text.splitlines())
