"""Small correct objects, and copies of them with single changes."""

from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.tables import table

Object = dict[str, Any]


class _Delete:
    def __repr__(self) -> str:
        return "(removed)"


DELETE = _Delete()
"""The value of a field that a change removes."""
_TABLE = table(__file__, "bases.yaml")

BASES: dict[str, Object] = {
    name: {"apiVersion": api, "kind": kind, "metadata": {"name": "a", "namespace": "default"}, "spec": spec}
    for name, (api, kind, spec) in _TABLE["objects"].items()
}
"""The objects by kind; with the API group if Kubernetes has a kind with the same name."""
Steps = tuple[str | int, ...]


class Case(NamedTuple):
    """An object with changes, and the field for which the API server refuses it."""

    kind: str
    changes: dict[str, Any]
    """Values by path. A path has dots between its steps; "|" if a step contains dots."""
    field: str | None = ""
    """The path of the refused field; empty for the path of the first change; None if the object is allowed."""

    def document(self) -> Object:
        """Returns the changed object."""
        document = deepcopy(BASES[self.kind])
        for path, value in self.changes.items():
            put(document, steps(path), deepcopy(value) if value is not DELETE else DELETE)
        return document

    def expected(self) -> Steps | None:
        """Returns the path of the refused field; None if the object is allowed."""
        if self.field is None:
            return None
        return steps(self.field or next(iter(self.changes)))

    def __str__(self) -> str:
        return f"{self.kind} {', '.join(f'{path}={str(value)[:40]}' for path, value in self.changes.items())}"


def steps(path: str) -> Steps:
    """Returns the steps of a path: numbers are indexes of lists."""
    return tuple(int(step) if step.isdigit() else step for step in path.split("|" if "|" in path else "."))


def put(document: Any, path: Steps, value: Any) -> None:
    """Sets the value at a path; missing maps and lists are created. DELETE removes the value."""
    for step, following in pairwise(path):
        if isinstance(document, list):
            while isinstance(step, int) and len(document) <= step:
                document.append({})
            document = document[step]
        else:
            document = document.setdefault(step, [] if isinstance(following, int) else {})
    if value is DELETE:
        del document[path[-1]]
    elif isinstance(document, list) and path[-1] == len(document):
        document.append(value)
    else:
        document[path[-1]] = value


class _Loader(yaml.CSafeLoader):
    """Reads case files: `!removed ''` removes a field, and `!repeat [a, 64]` is a long text."""


_Loader.add_constructor("!removed", lambda loader, node: DELETE)
_Loader.add_constructor("!repeat", lambda loader, node: node.value[0].value * int(node.value[1].value))


def read_cases(*files: Path) -> dict[str, list[Case]]:
    """Returns the cases of files: "checked", "unchecked" (fields that gpuc does not check) and "webhooks".

    Each document has a kind and chapters: the changes of refused objects by refused field, and the changes of allowed
    objects. Only webhooks refuse the objects of the chapter "webhooks"; a bare API server accepts them.
    """
    found: dict[str, list[Case]] = {"checked": [], "unchecked": [], "webhooks": []}
    for file in files:
        for document in yaml.load_all(file.read_text(encoding="utf-8"), Loader=_Loader):
            kind = document.pop("kind")
            for name, chapter in document.items():
                cases = found[name if name in found else "checked"]
                refused = chapter.get("refused", {}).items()
                cases += [Case(kind, changes, field) for field, rows in refused for changes in rows]
                cases += [Case(kind, changes, None) for changes in chapter.get("allowed", ())]
    return found
