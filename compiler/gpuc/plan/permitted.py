"""What AppProjects permit: Argo CD neither applies nor deletes objects that the AppProject does not permit.

Source: argo-cd v3.5.1 controller/state.go (CompareAppState removes live objects that are not permitted),
pkg/apis/application/v1alpha1/app_project_types.go (IsGroupKindNamePermitted, IsSourcePermitted, isDestinationMatched)
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import dig, group, items
from gpuc.plan.applications import GROUP, Application
from gpuc.plan.state import State

Row = tuple[str, ...]
"""An entry of a list, with texts such as API group and kind. A text can contain *, and !TEXT means all other texts."""


class Permitted(NamedTuple):
    """Entries that permit, and entries that deny."""

    permitting: tuple[Row, ...]
    denying: tuple[Row, ...] = ()

    def permits(self, row: Row) -> bool:
        """Returns whether an entry permits a row and no entry denies the row.

        An entry with !TEXT permits all other texts. It denies a row if only this text differs.
        """
        misses = [_misses(entry, row) for entry in self.permitting]
        is_denied = any(len(missed) == 1 and missed[0].startswith("!") for missed in misses)
        return not all(misses) and not is_denied and all(_misses(entry, row) for entry in self.denying)


def added(before: Permitted, after: Permitted) -> Iterator[Row]:
    """Yields what only `after` permits: of its entries, and of the entries that denied before."""
    rows = [tuple("*" if text.startswith("!") else text for text in row) for row in after.permitting]
    rows += before.denying
    rows += [tuple(text.removeprefix("!") for text in row) for row in before.permitting]
    return (row for row in dict.fromkeys(rows) if after.permits(row) and not before.permits(row))


def cluster_kinds(spec: Any) -> Permitted:
    """Returns the cluster-scoped kinds that an AppProject permits: API group, kind and name of the object."""
    lists = (dig(spec, f"clusterResource{name}") for name in ("Whitelist", "Blacklist"))
    return Permitted(*(tuple((*kind, _text(row, "name") or "*") for kind, row in _kinds(rows)) for rows in lists))


def namespaced_kinds(spec: Any) -> Permitted:
    """Returns the namespaced kinds that an AppProject permits: API group and kind. No list permits all kinds."""
    allowed, denied = (dig(spec, f"namespaceResource{name}") for name in ("Whitelist", "Blacklist"))
    every: tuple[Row, ...] = (("*", "*"),)
    return Permitted(
        every if allowed is None else tuple(kind for kind, _ in _kinds(allowed)),
        tuple(kind for kind, _ in _kinds(denied)),
    )


def destinations(spec: Any) -> Permitted:
    """Returns the destinations that an AppProject permits: the server or the name of the cluster, and the namespace."""
    rows = (row for _, row in items(dig(spec, "destinations")))
    return Permitted(tuple((_text(row, "server") or _text(row, "name"), _text(row, "namespace")) for row in rows))


def sources(spec: Any) -> Permitted:
    """Returns the repositories that an AppProject permits."""
    return Permitted(tuple((str(url),) for _, url in items(dig(spec, "sourceRepos"))))


def is_permitted(state: State, application: Application, manifest: Manifest) -> bool:
    """Returns whether the AppProject of an Application permits an object; True if the AppProject is not known."""
    project = _project(state, application)
    if project is None:
        return True
    spec = project.body.get("spec")
    kind = (group(manifest), manifest.kind)
    if not manifest.namespace:
        return cluster_kinds(spec).permits((*kind, manifest.name))
    return namespaced_kinds(spec).permits(kind) and _permits_namespace(spec, manifest.namespace)


def is_namespace_permitted(state: State, application: Application, namespace: str) -> bool:
    """Returns whether the AppProject of an Application permits a namespace; True if the AppProject is not known."""
    project = _project(state, application)
    return project is None or _permits_namespace(project.body.get("spec"), namespace)


def _project(state: State, application: Application) -> Manifest | None:
    name = dig(application.manifest.body, "spec", "project")
    return next((project for project in state.objects.of(GROUP, "AppProject") if project.name == name), None)


def _permits_namespace(spec: Any, namespace: str) -> bool:
    return Permitted(tuple((entry,) for _, entry in destinations(spec).permitting)).permits((namespace,))


def _kinds(rows: Any) -> Iterator[tuple[Row, Any]]:
    return (((_text(row, "group"), _text(row, "kind")), row) for _, row in items(rows))


def _text(row: Any, key: str) -> str:
    return str(dig(row, key) or "")


def _misses(entry: Row, row: Row) -> list[str]:
    """Returns the texts of an entry that do not match the text of the row."""
    return [
        pattern
        for pattern, text in zip(entry, row, strict=True)
        if fnmatchcase(text, pattern.removeprefix("!")) == pattern.startswith("!")
    ]
