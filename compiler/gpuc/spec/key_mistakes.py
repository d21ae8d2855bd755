"""Findings about keys of a spec: unknown keys, missing keys, and names with forbidden characters as keys."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel

from gpuc.diagnostics.finding import Finding, Path, Related
from gpuc.diagnostics.spelling import misspelt, nearest
from gpuc.source import Source
from gpuc.spec.corrected import corrected
from gpuc.spec.field_type import fields, key_type, members, mistakes_of, plain, type_at
from gpuc.spec.form import TEXT
from gpuc.spec.location import TOO_LONG, Mistake
from gpuc.spec.rules import MISSING, UNKNOWN, VALUE
from gpuc.spec.words import expected, name_of, show


def unknown_and_missing(mistakes: list[Mistake], source: Source, model: type[BaseModel]) -> Iterator[Finding]:
    """Yields the findings about unknown and missing keys: one finding for a missing key and a similar unknown key."""
    missing: dict[Path, list[str]] = {}
    for mistake in mistakes:
        if mistake.kind == "missing":
            missing.setdefault(mistake.path[:-1], []).append(str(mistake.path[-1]))
    present = set(source.keys)
    for path in (mistake.path for mistake in mistakes if mistake.kind == "extra_forbidden"):
        parent, key = path[:-1], str(path[-1])
        known = list(fields(type_at(parent, model)))
        unused = [name for name in known if (*parent, name) not in present]
        instead = _instead(type_at(parent, model), key)
        meant = nearest(key, missing.get(parent, [])) or misspelt(key, unused)
        if instead:
            message = f"{name_of(parent)} has the unknown key {key}; expected {instead}"
            yield UNKNOWN.at(path, message, fix=f"write {instead} instead of {key}", on_key=True)
            meant = instead
        elif meant and _excludes(parent, key, meant, source, model):
            reason = f"{meant} is also wrong here, because {meant} excludes another key of the map"
            message = f"{name_of(parent)} has the unknown key {key}; {reason}"
            yield UNKNOWN.at(path, message, fix=f"remove key {key}", on_key=True)
        elif meant:
            present.add((*parent, meant))
            yield UNKNOWN.at(path, f"{name_of(parent)} has the unknown key {key}; expected {meant}",
                             fix=f"rename key {key} to {meant}", on_key=True)  # fmt: skip
        else:
            yield _unknown(path, known, source)
        if meant in missing.get(parent, []):
            missing[parent].remove(meant)
    for parent, keys in missing.items():
        yield from (_missing(parent, key, type_at((*parent, key), model)) for key in keys)


def _instead(kind: Any, key: str) -> str:
    return next((row.instead[key] for row in map(plain, members(kind)) if key in getattr(row, "instead", ())), "")


def wrong_key(path: Path, mistake: Mistake, source: Source, model: type[BaseModel]) -> Finding:
    """Returns the finding about a wrong key that the user has chosen, for example the name of a pool."""
    if mistake.kind == "value_error":
        return VALUE.at(path, f"{name_of(path)}: {mistake.context['error']}", on_key=True)
    kind, parent = key_type(type_at(path[:-1], model)), name_of(path[:-1])
    if mistake.kind in TOO_LONG:
        limit = mistake.context["max_length"]
        message = f"key {show(path[-1])} of {parent} has length {len(str(path[-1]))}; expected at most {limit}"
        return VALUE.at(path, message, on_key=True)
    wanted = mistake.context["expected"] if mistake.kind == TEXT else expected(kind)
    suggestion = mistake.context["suggestion"] if mistake.kind == TEXT else corrected(kind, path[-1])
    message = f"key {show(path[-1])} of {parent} is not allowed; expected {wanted}"
    other = (*path[:-1], suggestion)
    if other in source.keys:
        related = [Related(f"the key {suggestion} of {parent}", other, on_key=True)]
        return VALUE.at(path, message, on_key=True, related=related)
    return VALUE.at(path, message, fix=f"rename the key to {suggestion}" if suggestion else "", on_key=True)


def _unknown(path: Path, known: list[str], source: Source) -> Finding:
    """Returns the finding about an unknown key that is not certainly the misspelled name of a known key."""
    parent, key = path[:-1], str(path[-1])
    message = f"{name_of(parent)} has the unknown key {key}"
    used = [name for name in known if (*parent, name) in source.keys]
    if twin := misspelt(key, used):
        related = [Related(f"the key {twin}", (*parent, twin), on_key=True)]
        return UNKNOWN.at(path, f"{message}, and already has the key {twin}", on_key=True, related=related)
    similar = nearest(key, [name for name in known if name not in used])
    question = f" (did you mean {similar}?)" if similar else ""
    listed = f"; expected one of {', '.join(known)}" if known else ""
    return UNKNOWN.at(path, f"{message}{question}{listed}", on_key=True)


def _excludes(parent: Path, key: str, meant: str, source: Source, model: type[BaseModel]) -> bool:
    """Returns whether the map would be wrong as a whole with the renamed key, which excludes another key of the map."""
    values = source.tree
    for step in parent:
        values = values[step]  # type: ignore[index]
    renamed = {meant if name == key else name: value for name, value in values.items()}
    return "value_error" in mistakes_of(type_at(parent, model), renamed)


def _missing(parent: Path, key: str, kind: Any) -> Finding:
    choices = get_args(plain(kind)) if get_origin(plain(kind)) is Literal else ()
    message = f"the key {key} is missing in {name_of(parent)}; expected {expected(kind)}"
    return MISSING.at(parent, message, fix=f"add {key}: {choices[0]}" if len(choices) == 1 else "", on_key=True)
