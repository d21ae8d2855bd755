"""Findings about names in a spec that do not exist."""

from collections.abc import Collection, Iterable, Iterator

from gpuc.diagnostics.finding import Finding, Path, rule_table
from gpuc.diagnostics.spelling import nearest, write

rule_of = rule_table(__file__)
"""Declares a rule of rules.toml by its id."""
UNRESOLVED = rule_of("VER003")


def unknown_names(noun: str, names: Iterable[str], known: Collection[str], path: Path) -> Iterator[Finding]:
    """Yields a finding for each name in a list that does not exist. The noun is the kind of name, such as "tenant"."""
    return (unknown(noun, name, known, (*path, index)) for index, name in enumerate(names) if name not in known)


def unknown(noun: str, name: str, known: Iterable[str], path: Path, *, on_key: bool = False) -> Finding:
    """Returns the finding about a name that does not exist. The noun is the kind of name, for example "queue"."""
    names = list(known)
    one_of = "one of " if len(names) > 1 else ""
    allowed = f"; expected {one_of}{', '.join(names)}" if 0 < len(names) <= 12 else ""
    allowed = allowed if names else f"; the spec defines no {noun}"
    message = f'{noun} "{name}" does not exist{allowed}'
    meant = nearest(name, names)
    quoted = f'"{meant}"' if meant.replace(".", "").isdecimal() else meant  # YAML reads 2026.08 as a number
    return UNRESOLVED.at(path, message, fix=write(quoted), on_key=on_key)
