"""Collects the names of objects by kind and namespace, so that checks can find references to missing objects."""

import re
from collections.abc import Iterator

from gpuc.manifest.manifest import Kind, Manifest
from gpuc.objects.object_set import ObjectSet, by_first, dig, group
from gpuc.objects.operator_values import config_maps
from gpuc.objects.paths import matching_values, pattern
from gpuc.parts.folders import table_beside


def kind_of(text: str) -> Kind:
    """Splits a text such as "kueue.x-k8s.io/LocalQueue" or "ConfigMap" into API group and kind."""
    api_group, _, kind = text.rpartition("/")
    return api_group, kind


NAMED_BY = {"templates.gatekeeper.sh/ConstraintTemplate": "spec.crd.spec.names.kind"}
"""The path of the field by which other objects reference a kind, for kinds where it is not metadata.name."""

_TABLE = table_beside(__file__)
CREATORS: list[tuple[str, str, str]] = _TABLE["creators"]
CLUSTER_SCOPED = frozenset(map(kind_of, _TABLE["cluster_scoped"]))
"""The referenced kinds that are cluster-scoped."""
_BUILT_IN = {kind_of(kind): re.compile(names) for kind, names in _TABLE["built_in"].items()}
"""Patterns of names that exist in every cluster."""
_CONFIG_MAP = kind_of("ConfigMap")


class SymbolTable:
    """The names of all objects by kind. The names of a kind are collected when a check first needs them."""

    def __init__(self, objects: ObjectSet) -> None:
        self._objects = objects
        self._namespaces: dict[Kind, dict[str, set[str]]] = {}
        self._names: dict[tuple[Kind, str], list[str]] = {}

    def namespaces_by_name(self, kind: Kind) -> dict[str, set[str]]:
        """Returns the namespaces that contain an object of a kind, by the name of the object.

        The namespace is the empty string for cluster-scoped objects, and for objects whose file has no namespace.
        """
        if kind not in self._namespaces:
            is_namespaced = kind not in CLUSTER_SCOPED
            named = ((name, manifest.namespace if is_namespaced else "") for name, manifest in self._named(kind))
            rendered = config_maps(self._objects) if kind == _CONFIG_MAP else ()
            found = by_first((*named, *((name, "") for name in rendered)))
            self._namespaces[kind] = {name: set(namespaces) for name, namespaces in found.items()}
        return self._namespaces[kind]

    def has(self, kind: Kind, name: str, namespace: str) -> bool:
        """Returns whether an object with a name can exist in a namespace; if `namespace` is empty, in any namespace."""
        if (known := _BUILT_IN.get(kind)) and known.fullmatch(name):
            return True
        namespaces = self.namespaces_by_name(kind).get(name, ())
        return bool(namespaces) and (not namespace or namespace in namespaces or "" in namespaces)

    def names_in(self, kind: Kind, namespace: str) -> list[str]:
        """Returns the names of the objects of a kind in a namespace; if `namespace` is empty, in all namespaces."""
        key = (kind, namespace)
        if key not in self._names:
            by_name = self.namespaces_by_name(kind).items()
            self._names[key] = [
                name for name, namespaces in by_name if not namespace or namespace in namespaces or "" in namespaces
            ]
        return self._names[key]

    def name_of(self, manifest: Manifest) -> str:
        """Returns the name of an object in references: metadata.name, or the kind that a ConstraintTemplate defines."""
        path = NAMED_BY.get(f"{group(manifest)}/{manifest.kind}")
        name = dig(manifest.body, *pattern(path)) if path else manifest.name
        return name if isinstance(name, str) else manifest.name

    def _named(self, kind: Kind) -> Iterator[tuple[str, Manifest]]:
        text = "/".join(filter(None, kind))
        for manifest in self._objects.of(*kind):
            yield self.name_of(manifest), manifest
        for creator, path, created in CREATORS:
            if created == text:
                for manifest in self._objects.of(*kind_of(creator)):
                    names = matching_values(manifest.document(), pattern(path))
                    yield from ((name, manifest) for _, name in names if isinstance(name, str))
