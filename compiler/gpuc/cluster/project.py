"""Reads AppProjects: the repositories, clusters, namespaces and kinds that they permit to their Applications.

Argo CD neither applies nor deletes objects that the AppProject does not permit.

Source: argo-cd v3.5.7 pkg/apis/application/v1alpha1/app_project_types.go (IsSourcePermitted, isDestinationMatched,
IsGroupKindNamePermitted), controller/state.go (CompareAppState), util/glob; gobwas/glob v0.2.3
"""

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from gpuc.cluster.application import ARGO, Application, Destination, destination_in
from gpuc.cluster.repository_url import normalized_url
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, group, items

_TOKEN = re.compile(r"\*\*+|\[!?[^\]]+\]|\{[^{}]*\}|\\.|.", re.DOTALL)
_AROUND = re.compile(r"([^*?{[\\]*)(\*+)([^*?{[\\]*)")
"""A pattern with only one wildcard.

The texts before and after the wildcard may overlap: kube-*-system matches kube-system.
"""
_LITERAL, _ESCAPED = re.compile(r"[\[^]"), r"\\\g<0>"
"""Signs in a set of a pattern that have another meaning in a set of a regular expression."""
_EXCEPT = re.compile(r"\[![^\]]+\]")
Row = TypeVar("Row")


class KindName(NamedTuple):
    """The API group, kind and name of objects in a list of an AppProject. The name "*" means all names."""

    group: str
    kind: str
    name: str = "*"


class Project:
    """An AppProject of Argo CD."""

    def __init__(self, manifest: Manifest) -> None:
        spec = dig(manifest.body, "spec")
        self.manifest = manifest
        self.name = manifest.name
        self.repositories = [url for _, url in items(dig(spec, "sourceRepos")) if isinstance(url, str)]
        """The patterns of sourceRepos. A pattern with ! permits all other repositories, and denies its own."""
        self.destinations = [destination_in(row) for _, row in items(dig(spec, "destinations"))]
        """The patterns of clusters and namespaces, which can begin with ! too."""
        self.kinds: dict[bool, tuple[list[KindName], list[KindName]]] = {}
        """The patterns of permitted and of denied kinds, of namespaced kinds (True) and of cluster-scoped kinds.

        Without a list, all namespaced kinds are permitted.
        """
        for namespaced, prefix in ((True, "namespace"), (False, "cluster")):
            allowed, denied = (dig(spec, f"{prefix}Resource{name}list") for name in ("White", "Black"))
            is_every = namespaced and allowed is None
            permitted = [KindName("*", "*")] if is_every else _kinds(allowed, namespaced)
            self.kinds[namespaced] = permitted, _kinds(denied, namespaced)

    def permits_repository(self, url: str) -> bool:
        """Returns whether the sources of Applications may have this repoURL."""
        text = normalized_url(url)
        found = {pattern: _matches(_normalized(pattern), text, "/") for pattern in self.repositories}
        return any(found.values()) and all(found[pattern] for pattern in found if _denies(pattern))

    def permits_destination(self, destination: Destination) -> bool:
        """Returns whether Applications may install objects in this cluster and namespace."""
        if destination.is_own:
            destination = destination.own
        permits = False
        for row in self.destinations:
            server, name = (
                bool(text) and _matches(pattern, text) for pattern, text in zip(row[:2], destination[:2], strict=True)
            )
            namespace = _matches(row.namespace, destination.namespace)
            if (server or name) and namespace:
                permits = True
            elif (
                (_denies(row.name) and not name)
                or (_denies(row.server) and not server and namespace)
                or (_denies(row.namespace) and not namespace and server)
            ):
                return False
        return permits

    def permits_application(self, namespace: str) -> bool:
        """Returns whether Applications in a namespace may use the AppProject; True if the objects do not show this."""
        known = [
            name for _, name in items(dig(self.manifest.body, "spec", "sourceNamespaces")) if isinstance(name, str)
        ]
        return not (namespace and self.manifest.namespace) or any(
            pattern.startswith("/") or _matches(pattern, namespace) for pattern in (self.manifest.namespace, *known)
        )

    def permits_kind(self, kind: KindName, *, namespaced: bool) -> bool:
        """Returns whether Applications may contain objects of a kind, whatever the namespace of the object is."""
        allowed, denied = self.kinds[namespaced]
        return _lists(allowed, kind) and not _lists(denied, kind)

    def permits(self, application: Application, manifest: Manifest) -> bool:
        """Returns whether an Application may apply and delete an object, by its kind and namespace."""
        namespace = manifest.namespace
        kind = KindName(group(manifest), manifest.kind, manifest.name)
        return self.permits_kind(kind, namespaced=bool(namespace)) and (
            not namespace or self.permits_destination(application.destination._replace(namespace=namespace))
        )


def project_of(objects: ObjectSet, application: Application) -> Project | None:
    """Returns the AppProject that an Application names; None if the objects do not contain it."""
    projects = objects.of(ARGO, "AppProject")
    return next((Project(manifest) for manifest in projects if manifest.name == application.project), None)


def added_repositories(before: Project, after: Project) -> list[str]:
    """Returns the repositories that the AppProject permits after a change but not before the change."""
    rows = _probes([(url,) for url in before.repositories], [(url,) for url in after.repositories])
    return _added(before, after, Project.permits_repository, (url for (url,) in rows))


def added_destinations(before: Project, after: Project) -> list[Destination]:
    """Returns the clusters and namespaces that the AppProject permits after a change but not before the change."""
    rows = _probes(before.destinations, after.destinations)
    return _added(before, after, Project.permits_destination, (Destination(*row) for row in rows))


def added_kinds(before: Project, after: Project, *, namespaced: bool) -> list[KindName]:
    """Returns the kinds that the AppProject permits after a change but not before the change."""
    allowed, denied = before.kinds[namespaced]
    permits = partial(Project.permits_kind, namespaced=namespaced)
    return _added(before, after, permits, (*after.kinds[namespaced][0], *denied, *allowed))


def _added(before: Project, after: Project, permits: Callable[[Project, Row], bool], rows: Iterable[Row]) -> list[Row]:
    return [row for row in dict.fromkeys(rows) if permits(after, row) and not permits(before, row)]


def _probes(before: Iterable[tuple[str, ...]], after: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yields what patterns after a change permit, and what patterns before the change may have denied."""
    yield from (tuple("*" if _denies(text) else text for text in row) for row in after)
    yield from (tuple(text.removeprefix("!") for text in row) for row in before)


def _kinds(rows: Any, namespaced: bool) -> list[KindName]:
    found = [[str(dig(row, key) or "") for key in KindName._fields] for _, row in items(rows)]
    return [KindName(api_group, kind, "*" if namespaced else name or "*") for api_group, kind, name in found]


def _lists(rows: list[KindName], kind: KindName) -> bool:
    return any(all(map(fnmatchcase, kind, map(_python_pattern, row))) for row in rows)


def _python_pattern(pattern: str) -> str:
    """Returns a pattern of Go for fnmatch. In Go [^a] matches all signs except a, and [!a] matches ! and a."""
    return re.sub(r"\[!([^\]]*)\]", r"[\1!]", pattern).replace("[^", "[!")


def _denies(pattern: str) -> bool:
    return pattern.startswith("!")


def _normalized(pattern: str) -> str:
    return f"{'!' if _denies(pattern) else ''}{normalized_url(pattern.removeprefix('!'))}"


def _matches(pattern: str, text: str, separator: str = "") -> bool:
    """Returns whether a text matches a pattern; with !, whether it does not match the rest of the pattern.

    A single * does not match the separator, but the pattern * matches all texts. A pattern of only ? or [!a] matches
    the empty text too.
    """
    if pattern == "*":
        return True
    found = _expression(pattern.removeprefix("!"), f"[^{separator}]" if separator else ".").fullmatch(text)
    return (found is None) == _denies(pattern)


@cache
def _expression(pattern: str, character: str) -> re.Pattern[str]:
    expression = _regular(pattern, character)
    if (found := _AROUND.fullmatch(pattern)) and (character == "." or found[2] != "*"):
        expression = f"(?={re.escape(found[1])}).*(?<={re.escape(found[3])})"
    elif pattern == "?" or _EXCEPT.fullmatch(pattern):
        expression = f"(?:{expression})?"
    try:
        return re.compile(expression, re.DOTALL)
    except re.error:  # such as [z-a]: Argo CD logs a warning
        return re.compile(r"(?!)")


def _regular(pattern: str, character: str) -> str:
    """Returns a regular expression for a pattern. `character` is the expression for the sign ?."""

    def expression(token: str) -> str:
        if len(token) == 1:
            # Argo CD logs a warning about a [ without ].
            return {"*": f"{character}*", "?": character, "[": "(?!)"}.get(token) or re.escape(token)
        choices = token[1:-1].split(",")
        return {
            "*": ".*",
            "[": f"[{'^' * token.startswith('[!')}{_LITERAL.sub(_ESCAPED, token[1:-1].removeprefix('!'))}]",
            "{": f"(?:{'|'.join(_regular(choice, character) for choice in choices)})",
        }.get(token[0]) or re.escape(token[-1])

    return "".join(map(expression, _TOKEN.findall(pattern)))
