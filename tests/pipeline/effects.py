"""Measures the effects of the fields of the spec language, and writes them to spec/effects.json.

The program changes the value of each field in the example specs, compiles the spec in memory, and compares the objects
of the output. Run by `make generate`: python -m tests.pipeline.effects
"""

import json
import multiprocessing
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from msgspec.structs import replace

from gpuc.diagnostics.finding import Path, StageError
from gpuc.extra.files import read_files
from gpuc.manifest.manifest import Artifact, Manifest, Text, Values
from gpuc.pipeline.fleet_catalog import fleet_catalog
from gpuc.pipeline.fleet_policies import fleet_policies
from gpuc.pipeline.stages import compile_source
from gpuc.spec.reference import EFFECTS, Steps, field_at, fields, path_text
from tests.conftest import CUSTOM, HUB_CLUSTERS, root_of
from tests.pipeline.memory import leaves, source
from tests.pipeline.other_values import ABSENT, CANDIDATES, REASONS, UNSET, other
from tests.values import changed, value_at, without

SPECS = ("prod-use1", *HUB_CLUSTERS[:1], "infer-euw1", "train-usw2", "custom-euc1", "lab-dc1", "hall-fra1")
"""The example specs, in the order in which the examples of fields are taken from them."""
TRIES = 4
"""The number of values of a field that are changed, each in another place of a spec."""
OBJECTS = 6
"""The number of objects that an entry lists."""
FIELDS = 4
"""The number of fields of an object that an entry lists."""
ACCEPTED_STAGES = 4
"""How often errors are accepted before a value counts as one that does not compile."""

Objects = dict[tuple[str, str, str, str], Any]
"""The content of files, by file, kind, namespace and name."""


def measured(steps: Steps) -> dict[str, Any] | None:
    """Returns the entry of effects.json for a field; None if no example sets the field."""
    tried = places().get(steps, [])
    if not tried and path_text(steps) in REASONS:
        return {"why": REASONS[path_text(steps)]}
    if not tried and path_text(steps) not in UNSET:
        return None
    if not tried:
        spec, path, value = UNSET[path_text(steps)]
        difference = set(differences(spec, _with(source(spec).tree, tuple(path), value)))
        return {"example": _inner(value, steps[-1]), **_result(steps, difference)}
    found: set[tuple[str, str, str]] = set()
    spec, path, _ = tried[0]
    for place, leaf, value in tried[:TRIES]:
        found |= set(_of_leaf(place, leaf, value))
    found = {row for row in found if row[1]} or found  # the text of the page of the cluster is not in out/
    file = f"{root_of(spec).relative_to(CUSTOM.parents[1])}/specs/{spec}.yaml".removeprefix("./")
    _, length = field_at(path) or (steps, len(path))
    return {"example": value_at(source(spec).tree, path[:length]), "file": file, **_result(steps, found)}


def _inner(value: Any, key: str) -> Any:
    """Returns the value of a key in a section; other values unchanged."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return _inner(value[0], key)
    if isinstance(value, dict) and key not in value:
        inner = next((part for part in value.values() if key in str(part)), None)
        return value if inner is None else _inner(inner, key)
    return value[key] if isinstance(value, dict) else value


def _of_leaf(spec: str, path: Path, value: Any) -> list[tuple[str, str, str]]:
    """Returns the differences of the first other value that compiles.

    If none compiles, the differences without the key, and then without the section that contains the key.
    """
    tree = source(spec).tree
    trees = [] if path[-1] in ABSENT else [changed(tree, path, new) for new in _candidates(path, value)]
    trees.append(without(tree, path))
    around = [length for length in range(len(path) - 1, 1, -1) if length > 3 or isinstance(path[length - 1], int)]
    trees += [without(tree, path[:length]) for length in around]
    return next((found for found in (list(differences(spec, tree)) for tree in trees) if found), [])


def _candidates(path: Path, value: Any) -> Iterator[Any]:
    yield other(path, value)
    if isinstance(value, int) and not isinstance(value, bool):
        yield from (value + 1, value * 2)
    key = next(step for step in reversed(path) if isinstance(step, str))
    yield from CANDIDATES.get(key, ())


def _result(steps: Steps, found: set[tuple[str, str, str]]) -> dict[str, Any]:
    if not found:
        return {"why": REASONS.get(path_text(steps), "none in out/")}
    objects: dict[tuple[str, str], list[str]] = {}
    for file, kind, field in sorted(found):
        objects.setdefault((kind, file), []).append(field)
    ordered = sorted(_joined(objects))
    listed = [[kind, file, *_folded(names)] for kind, file, names in ordered[:OBJECTS]]
    more = sum(len(names) for _, _, names in ordered[OBJECTS:])
    return {"effects": listed} | ({"more": more} if more else {})


def _joined(objects: dict[tuple[str, str], list[str]]) -> Iterator[tuple[str, str, list[str]]]:
    """Yields kind, file and fields. * in a file stands for several files with the same fields."""
    files: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (kind, file), names in objects.items():
        files.setdefault((kind, file.rpartition("/")[0], tuple(names)), []).append(file)
    for (kind, folder, names), found in files.items():
        yield kind, found[0] if len(found) == 1 else f"{folder}/*.yaml", list(names)


def _folded(names: list[str]) -> list[str]:
    if "" in names:
        return [""]
    rest = len(names) - FIELDS
    return names[:FIELDS] + ([f"and {rest} more field{'s' * (rest > 1)}"] if rest > 0 else [])


@cache
def places() -> dict[Steps, list[tuple[str, Path, Any]]]:
    """Returns the places of each field in the example specs: spec, path of a scalar, and the scalar."""
    found: dict[Steps, dict[tuple[str, str], tuple[str, Path, Any]]] = {}
    for spec in SPECS:
        for path, value in leaves(source(spec).tree):
            place = field_at(path)
            if place is not None and value not in (None, {}, []):
                element = ".".join(map(str, path[:3]))
                found.setdefault(_full(place[0]), {}).setdefault((spec, element), (spec, path, value))
    return {steps: list(rows.values()) for steps, rows in found.items()}


def _full(steps: Steps) -> Steps:
    """Returns the steps of a field. The value of a section in its short form is the value of one of its fields."""
    section = fields().get(steps) or fields().get(steps[:-1])
    return (*steps, section.short_for) if section is not None and section.short_for else steps


@cache
def unchanged(spec: str) -> Objects:
    """Returns the output of an example spec."""
    return _compiled(spec, source(spec).tree)


def differences(spec: str, tree: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yields file, kind and field of the output that a tree in the place of an example's tree changes.

    The field is empty for objects that exist only in one of both outputs. Yields nothing if the tree does not compile.
    """
    before, after = unchanged(spec), _compiled(spec, tree)
    if not after:
        return
    names = _names(source(spec).tree) | _names(tree)
    for key in sorted(before.keys() | after.keys()):
        file, kind, *_ = key
        place = _anonymous(file.split("/", 2)[-1] if file.startswith("out/") else file, names)
        if key not in before or key not in after:
            yield place, kind, ""
        elif before[key] != after[key]:
            for path in _changed(before[key], after[key]):
                yield place, kind, _field(path, names)


def _compiled(spec: str, tree: dict[str, Any]) -> Objects:
    """Returns the output of a tree in the place of an example's; empty if gpuc cannot compile the tree.

    The tree accepts the errors of rules, for example a quota that no longer fits after the number of nodes changed.
    """
    for _ in range(ACCEPTED_STAGES):
        try:
            return _objects(compile_source(replace(source(spec), tree=tree, raw={}), **_fleet(spec)).artifacts)
        except StageError as stop:
            ids = {finding.id for finding in stop.findings if finding.is_error}
            accepted = tree["spec"].get("accept", {})
            if any(rule.startswith(("SPC", "VER", "YAML")) or rule in accepted for rule in ids):
                return {}
            tree = _with(tree, ("spec", "accept"), accepted | dict.fromkeys(ids, "measured"))
    return {}


@cache
def _fleet(spec: str) -> dict[str, Any]:
    """Returns the policies, files and catalog of the fleet of an example."""
    root = root_of(spec)
    files = read_files(root, f"specs/{spec}.yaml")
    return {"fleet": fleet_policies(root), "files": files, "catalog": fleet_catalog(root).catalog}


def _objects(artifacts: Iterable[Artifact]) -> Objects:
    found: Objects = {}
    for artifact in artifacts:
        if isinstance(artifact, Values):
            found[artifact.file, "Helm values", "", artifact.component] = _parsed(artifact.body, artifact.embedded)
        elif isinstance(artifact, Manifest):
            found[artifact.file, artifact.kind, artifact.namespace, artifact.name] = artifact.document()
        elif isinstance(artifact, Text):
            found[artifact.file, "", "", ""] = artifact.text
    return found


def _parsed(value: Any, embedded: dict[str, Any]) -> Any:
    """Returns Helm values with the documents of the strings that contain YAML."""
    if isinstance(value, dict):
        return {key: _parsed(part, embedded) for key, part in value.items()}
    if isinstance(value, list):
        return [_parsed(part, embedded) for part in value]
    return embedded.get(value, value) if isinstance(value, str) else value


def _changed(left: Any, right: Any, path: Path = ()) -> Iterator[Path]:
    """Yields the paths of the values that differ, without the indexes of lists."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in left.keys() | right.keys():
            if key not in left or key not in right:
                yield (*path, key)
            else:
                yield from _changed(left[key], right[key], (*path, key))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for old, other_one in zip(left, right, strict=True):
            yield from _changed(old, other_one, path)
    elif left != right:
        yield path


def _field(path: Path, names: set[str]) -> str:
    """Returns the path as text, with * in place of the user's names."""
    steps = [_anonymous(str(step), names) for step in path]
    return "".join(f"[{step}]" if "." in step or "/" in step else f".{step}" for step in steps).removeprefix(".")


def _anonymous(text: str, names: set[str]) -> str:
    """Returns the text with * in place of the names that are complete words."""
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<![A-Za-z0-9])({known})(?![A-Za-z0-9])", "*", text) if known else text


def _names(tree: dict[str, Any]) -> set[str]:
    """Returns the names that the user chose: keys of the maps in the spec, and the name of the cluster."""
    found = {tree["metadata"]["name"]}
    for steps in fields():
        if "*" in steps and steps[1] not in {"components", "policies"}:  # these names are gpuc's
            found |= set(_keys(tree, steps[: len(steps) - 1 - steps[::-1].index("*")]))
    return {str(name) for name in found}


def _keys(node: Any, steps: Steps) -> Iterator[str]:
    if not steps:
        yield from node if isinstance(node, dict) else ()
    elif steps[0] in {"*", "[]"}:
        for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            yield from _keys(value, steps[1:])
    elif isinstance(node, dict) and steps[0] in node:
        yield from _keys(node[steps[0]], steps[1:])


def _with(tree: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Returns the tree with a value at a path whose last maps may be absent."""
    for length in range(1, len(path)):
        try:
            value_at(tree, path[:length])
        except KeyError:
            tree = changed(tree, path[:length], {})
    return changed(tree, path, value)


def table() -> dict[str, dict[str, Any]]:
    """Returns the content of effects.json."""
    steps = [steps for steps, field in fields().items() if not field.is_section]
    with multiprocessing.Pool(os.cpu_count()) as workers:
        entries = workers.map(measured, steps, chunksize=4)
    return {path_text(step): entry for step, entry in zip(steps, entries, strict=True) if entry is not None}


def text(entries: dict[str, dict[str, Any]]) -> str:
    """Returns the text of effects.json, with one field on each line."""
    return "{\n" + ",\n".join(f"{json.dumps(path)}: {json.dumps(entry)}" for path, entry in entries.items()) + "\n}\n"


if __name__ == "__main__":
    EFFECTS.write_text(text(table()), encoding="utf-8")
