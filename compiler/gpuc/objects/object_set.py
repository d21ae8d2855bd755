"""The class ObjectSet: Kubernetes objects, usually those of one cluster, indexed by kind, name and namespace."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from operator import itemgetter
from typing import Any, Final, TypeVar

from gpuc.catalog import Catalog, load
from gpuc.manifest.manifest import Artifact, Manifest, Values

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""The label that the API server adds to every namespace."""
Key = tuple[str, str, str, str]
"""API group, kind, namespace, name."""
T = TypeVar("T")
GroupKey = TypeVar("GroupKey", bound=Hashable)


class ObjectSet:
    """Kubernetes objects that checks read together, usually those of one cluster, and values of Helm charts."""

    def __init__(
        self,
        manifests: Iterable[Manifest],
        *,
        is_complete: bool,
        values: Mapping[str, Any] | None = None,
        value_files: Iterable[str] | None = None,
        documents: Mapping[str, Any] | None = None,
        catalog: Catalog | None = None,
    ) -> None:
        self.manifests = tuple(manifests)
        self.catalog = catalog or load()
        """The facts about the nodes of the cluster: the facts of the fleet; without a fleet, the facts of gpuc."""
        self.values: Mapping[str, Any] = values or {}
        """Helm values by chart. The cluster can have other charts too."""
        self.value_files = None if value_files is None else frozenset(value_files)
        """The paths of all values files; None if the paths are unknown."""
        self.documents: Mapping[str, Any] = documents or {}
        """Parsed YAML documents, by text."""
        self.is_complete = is_complete
        """Whether the set contains all objects of a cluster, so that a missing object is an error.

        The files that a user lints can contain only some objects of a cluster. Then only contradictions between objects
        are findings."""
        self._read: dict[Callable[[ObjectSet], Any], Any] = {}

    def once(self, reader: "Callable[[ObjectSet], T]") -> T:
        """Calls a function with this set of objects, and stores the result for later calls with the same function."""
        if reader not in self._read:
            self._read[reader] = reader(self)
        result: T = self._read[reader]
        return result

    def with_objects(self, manifests: Iterable[Manifest], *, is_complete: bool | None = None) -> "ObjectSet":
        """Returns a new set with the objects of this set and the given objects.

        Args:
            is_complete: whether the new set contains all objects of a cluster; None for the value of this set.
        """
        return ObjectSet(
            [*self.manifests, *manifests],
            is_complete=self.is_complete if is_complete is None else is_complete,
            values=self.values,
            value_files=self.value_files,
            documents=self.documents,
            catalog=self.catalog,
        )

    @cached_property
    def _by_kind(self) -> dict[tuple[str, str], list[Manifest]]:
        return grouped(self.manifests, lambda manifest: (group(manifest), manifest.kind))

    @cached_property
    def _by_key(self) -> dict[Key, Manifest]:
        return {
            (group(manifest), manifest.kind, manifest.namespace, manifest.name): manifest for manifest in self.manifests
        }

    def of(self, api_group: str, kind: str) -> list[Manifest]:
        """Returns the objects of a kind in all its versions. The API group of core kinds is the empty string."""
        return self._by_kind.get((api_group, kind), [])

    def find(self, api_group: str, kind: str, name: str, namespace: str = "") -> Manifest | None:
        """Returns the object with this kind and name; None if the set has no such object."""
        return self._by_key.get((api_group, kind, namespace, name))

    def has(self, api_group: str, kind: str) -> bool:
        """Returns whether the set has at least one object of a kind."""
        return (api_group, kind) in self._by_kind

    @cached_property
    def namespaces(self) -> dict[str, dict[str, str]]:
        """The labels of each Namespace object by name, with the label kubernetes.io/metadata.name."""
        return {
            manifest.name: {NAMESPACE_NAME: manifest.name, **labels(manifest.labels)}
            for manifest in self.of("", "Namespace")
        }


def emitted(artifacts: Iterable[Artifact], catalog: Catalog | None = None) -> ObjectSet:
    """Returns the set of all objects and Helm values that gpuc emits for a cluster.

    Args:
        catalog: the catalog of the fleet; None for the catalog of gpuc.
    """
    files = list(artifacts)
    values = [artifact for artifact in files if isinstance(artifact, Values)]
    return ObjectSet(
        (artifact for artifact in files if isinstance(artifact, Manifest)),
        is_complete=True,
        values={chart.component: chart.body for chart in values},
        value_files=[chart.file for chart in values],
        documents={text: document for chart in values for text, document in chart.embedded.items()},
        catalog=catalog,
    )


def grouped(elements: Iterable[T], key: Callable[[T], GroupKey]) -> dict[GroupKey, list[T]]:
    """Returns lists of elements by key. The keys are in the order of their first element."""
    groups: dict[GroupKey, list[T]] = {}
    for element in elements:
        groups.setdefault(key(element), []).append(element)
    return groups


def by_first(pairs_of_values: Iterable[tuple[GroupKey, T]]) -> dict[GroupKey, list[T]]:
    """Groups pairs by their first value. The result maps each first value to the list of its second values."""
    return {key: [value for _, value in found] for key, found in grouped(pairs_of_values, itemgetter(0)).items()}


def home_namespace(manifest: Manifest) -> str:
    """Returns the namespace of an object in `kubectl apply`: its metadata.namespace, or default without this field."""
    return manifest.namespace or "default"


def group(manifest: Manifest) -> str:
    """Returns the API group of an object; the empty string for the core group."""
    return manifest.api.rpartition("/")[0]


def dig(value: Any, *path: str | int) -> Any:
    """Returns the value at a path in parsed YAML; None if the path does not exist."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def items(value: Any) -> Iterator[tuple[int, Any]]:
    """Yields the indexes and items of a list. Yields nothing for a value that is not a list."""
    return iter(enumerate(value if isinstance(value, list) else ()))


def pairs(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the string keys and the values of a map. Yields nothing for a value that is not a map."""
    return ((key, item) for key, item in value.items() if isinstance(key, str)) if isinstance(value, dict) else iter(())


def without_nulls(value: Any) -> Any:
    """Returns parsed YAML without the keys whose value is null."""
    if isinstance(value, dict):
        return {key: without_nulls(child) for key, child in value.items() if child is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def labels(value: Any) -> dict[str, str]:
    """Returns the labels in a map. Leaves out keys and values that are not strings, which the API server rejects."""
    return {key: text for key, text in pairs(value) if isinstance(key, str) and isinstance(text, str)}


def count_or(value: Any, default: int) -> int:
    """Returns the value if it is a number of at least 0, otherwise the default."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
