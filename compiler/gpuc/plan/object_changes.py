"""Finds the changed fields of objects and, for each field, the value of the spec that caused the change."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct

from gpuc.cluster.application import is_application
from gpuc.diagnostics.finding import Mark, Path
from gpuc.manifest.manifest import Manifest
from gpuc.model.names import GPU, mig_profile
from gpuc.objects.object_set import dig, group, grouped
from gpuc.plan.applications import chart_of, component_of
from gpuc.plan.change import Change, Pair
from gpuc.plan.differences import IDENTITIES, FieldChange
from gpuc.spec.reference import effects, field_at, path_text

_COMPONENTS = ("spec", "components")


def cause(change: Change, manifest: Manifest, path: Path = ()) -> Path:
    """Returns the path in the spec that caused the change of a field of an object.

    gpuc tries these rules for the changed values of the spec, and uses the first rule with a result. The element is the
    pool, tenant or queue from which gpuc emitted the object. The file spec/effects.json lists the measured effects.

    - the value is a customization that sets the field
    - the value is below the element, and has a measured effect on the field
    - the value has a measured effect on the field
    - the value is below the element
    - the value has a measured effect on the kind of the object

    If no rule has a result, the element is the cause. A value of another element of the same section, for example of
    another node pool, is never the cause. If several values fulfil a rule, the cause is the value whose path contains
    the most names of the object: its name, its namespace, and the names of list items on the path of the field.
    """
    if own := manifest.override(path):
        return own
    names = _names(manifest, path)
    component = _component(change, manifest)
    names.add(component)

    def affects(value: Path, field: Path) -> bool:
        return _affects(value, manifest, field, component)

    origin = manifest.origin
    paths = sorted(_candidates(change, origin[:3]), key=lambda value: -len(names.intersection(value)))
    below = {value for value in paths if value[: len(origin)] == origin}
    tests: tuple[Callable[[Path], bool], ...] = (
        lambda value: value in below and affects(value, path),
        lambda value: bool(path) and affects(value, path),
        lambda value: value in below,
        lambda value: affects(value, ()),
    )
    for test in tests:
        if found := next(filter(test, paths), None):
            return found
    return origin


@lru_cache(maxsize=1024)
def _candidates(change: Change, element: Path) -> tuple[Path, ...]:
    """Returns the changed values of the spec, without those of other elements of the same section."""
    paths = change.changed_paths()
    return tuple(path for path in paths if path[:2] != element[:2] or path[: len(element)] == element)


def mark_of(change: Change, path: Path) -> tuple[Mark | None, bool]:
    """Returns the position of a path of the spec, and whether the position is in the spec before the change.

    A value that the change removes has a position only in the spec before the change.
    """
    before, after = change.before.source, change.after.source
    if after is not None and (path in after.marks or before is None or path not in before.marks):
        return after.locate(path), False
    return (before.locate(path), True) if before is not None else (None, False)


def place_of(change: Change, manifest: Manifest, path: Path) -> tuple[Path, Mark | None, bool]:
    """Returns the cause of a changed field: a path in the spec, its position, and whether only the old spec has it.

    If people wrote the object by hand, the position is in the file of the object. The path is empty without a spec.
    """
    has_spec = change.before.source is not None or change.after.source is not None
    caused_by = cause(change, manifest, path) if has_spec else ()
    for state in (change.after, change.before):
        if mark := state.locate(manifest, path):
            pair = change.pair(group(manifest), manifest.kind, manifest.name, manifest.namespace)
            return caused_by, mark, pair is not None and pair.after is not manifest
    return caused_by, *mark_of(change, caused_by)


def _component(change: Change, manifest: Manifest) -> str:
    """Returns the component whose chart an Application installs; an empty string for another object."""
    return component_of(change, manifest.name) if is_application(manifest) and chart_of(manifest) else ""


def _names(manifest: Manifest, path: Path) -> set[str]:
    """Returns the names of an object and of the list items on a path; for GPU resources, keys of quotas."""
    names = {manifest.name, manifest.namespace, *map(str, manifest.origin[2::2])}
    value: Any = manifest.document()
    for step in path:
        value = dig(value, step)
        if isinstance(step, int):
            found = (str(dig(value, field)) for field in ("name", "key"))
            names |= {mig_profile(name) or name for name in found}
    if GPU in names:
        names.add("gpus")
    return names


def _affects(path: Path, manifest: Manifest, field: Path, component: str) -> bool:
    """Returns whether the value at a path of the spec has a measured effect on a field of an object."""
    file = "/".join(manifest.file.split("/")[2:]) if manifest.file.startswith("out/") else manifest.file
    wanted = _effect_place(field)
    return any(
        kind == manifest.kind
        and _is_in(pattern, file, path, component)
        and (not wanted or any(place and wanted.startswith(place) for place in places))
        for kind, pattern, *places in _effects(path)
    )


@cache
def _effects(path: Path) -> tuple[tuple[str, ...], ...]:
    """Returns the measured effects of the field at a path: kind, file and the places in the object.

    A section also has the effects of its fields, because a spec can have a text in the place of the section.
    """
    found = field_at(path)
    name = path_text(found[0]) if found else ""
    entries = [entry for field, entry in effects().items() if field == name or field.startswith(f"{name}.")]
    return tuple(tuple(row) for entry in entries if name for row in entry.get("effects", ()))


def _is_in(pattern: str, file: str, path: Path, component: str) -> bool:
    """Returns whether a measured effect of a value of the spec is in a file.

    gpuc measures the effects on the Application of a chart with the chart of one component. The effects apply to other
    charts as follows: the effects of the component itself and of general values apply to each Application. The effects
    of other components apply only if they occur on many Applications.
    """
    if not component:
        return fnmatchcase(file, pattern)
    is_other = path[:2] == _COMPONENTS and path[2:3] != (component,)
    return "*" in pattern and fnmatchcase(file, pattern) if is_other else pattern.startswith("apps/")


@lru_cache(maxsize=8192)
def _effect_place(path: Path) -> str:
    """Returns a path in the form of effects.json, without the numbers of list items."""
    text = ""
    for step in path:
        if isinstance(step, str):
            text += f"[{step}]" if "." in step or "/" in step else f".{step}"
    return text.removeprefix(".")


class ChangedField(Struct, frozen=True):
    """A changed field of an object, together with the path in the spec of the value that caused the change."""

    pair: Pair
    field: FieldChange
    cause: Path
    """The path in the merged spec."""
    mark: Mark | None
    """The position of the cause; for an object that people wrote, the position in its file."""
    is_before: bool
    """Whether the position is in the state before."""

    @property
    def place(self) -> str:
        """The path of the field as text. An item of a list has its name in the path, as in "containers[main].image"."""
        return _place(self.pair.holder(self.field).document(), self.field.path)


class CauseGroup(Struct, frozen=True):
    """All fields of objects that change because of the same value of the spec."""

    cause: Path
    mark: Mark | None
    is_before: bool
    spec_change: FieldChange | None
    """The change of the value in the spec; None if the objects change for another reason, such as a new gpuc."""
    fields: tuple[ChangedField, ...]

    @property
    def order(self) -> tuple[bool, str, int, int, str]:
        """The key by which reports sort the groups: file, line, column and path of the cause."""
        mark = self.mark or Mark("", 0, 0)
        return (self.mark is None, mark.file, mark.line, mark.column, str(self.cause))

    @property
    def objects(self) -> tuple[tuple[Pair, tuple[ChangedField, ...]], ...]:
        """The fields of each object, in the order of the objects."""
        groups = grouped(self.fields, lambda changed: id(changed.pair))
        return tuple((group[0].pair, tuple(group)) for group in groups.values())


@lru_cache(maxsize=8)
def changed_fields(change: Change, pairs: tuple[Pair, ...]) -> tuple[ChangedField, ...]:
    """Returns the changed fields of some objects, in the order of the objects, each with its cause."""
    return tuple(
        ChangedField(pair, field, *place_of(change, pair.holder(field), field.path))
        for pair in pairs
        for field in pair.fields
    )


def groups_by_cause(change: Change, pairs: tuple[Pair, ...]) -> list[CauseGroup]:
    """Returns the changed fields in groups with the same cause, sorted by the cause's file and line in the spec."""
    fields = changed_fields(change, pairs)
    groups = grouped(fields, lambda changed: (changed.cause, changed.mark.file if changed.mark else ""))
    by_path = {changed.path: changed for changed in change.spec_changes}
    found = [
        CauseGroup(cause, group[0].mark, group[0].is_before, by_path.get(cause), tuple(group))
        for (cause, _), group in groups.items()
    ]
    return sorted(found, key=lambda group: group.order)


def _place(document: Any, path: Path) -> str:
    text, node = "", document
    for step in path:
        node = dig(node, step)
        if isinstance(step, int):
            name = next((found for key in IDENTITIES if isinstance(found := dig(node, key), str)), step)
            text += f"[{name}]"
        else:
            text += f"[{step}]" if "." in step or "/" in step else f".{step}"
    return text.removeprefix(".")
