"""A review: all that admission policies know about a request to create an object, with the labels of its namespace."""

from collections.abc import Mapping
from functools import cache, cached_property, lru_cache
from typing import Any, Literal

from msgspec import Struct

from gpuc.admission.request import Request
from gpuc.catalog import schemas
from gpuc.cluster.namespace import namespaces
from gpuc.kubernetes.resource_name import plural
from gpuc.kubernetes.selector import Invalid, matches
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, dig, items, labels, without_nulls
from gpuc.objects.selectors import read_selector, selector

Source = Literal["Original", "Generated"]
_SERVICE_ACCOUNT = "system:serviceaccount:"
_AUTHENTICATED = "system:authenticated"
_GENERATED_NAME = "xxxxx"
"""The characters that replace the random part of a generated name."""
_BUILT_IN = (
    "", "apps", "autoscaling", "batch", "policy", "networking.k8s.io", "rbac.authorization.k8s.io", "storage.k8s.io",
)  # fmt: skip
"""API groups of Kubernetes."""


class NamespaceLabels(Struct, frozen=True):
    """The labels of the namespace of a request, as far as the input shows them."""

    labels: Mapping[str, str]
    is_known: bool
    """Whether these are all labels of the namespace."""
    document: Body | None = None
    """The Namespace object for expressions; None if the input does not contain it."""

    def selected(self, raw: Any) -> bool | None:
        """Returns whether a LabelSelector selects the namespace; None if this depends on unknown labels.

        An invalid LabelSelector, which the API server refuses, selects nothing.
        """
        try:
            requirements = read_selector(raw)
        except Invalid:
            return False
        if self.is_known:
            return matches(requirements, self.labels)
        known = tuple(requirement for requirement in requirements if requirement.key in self.labels)
        if not matches(known, self.labels):
            return False
        return True if len(known) == len(requirements) else None


class Review(Struct, frozen=True, dict=True):
    """The data that admission policies read about a request to create an object: the object, user and namespace."""

    document: Body
    group: str
    version: str
    kind: str
    resource: str
    """The plural name of the kind, in lower case: "pods"."""
    name: str
    namespace: str
    """The namespace of the object; empty for objects without a namespace."""
    scope: NamespaceLabels
    """The labels of the namespace. For a Namespace object, its own labels."""
    request: Body
    """The value of the variable `request` in expressions."""
    source: Source = "Original"
    """Whether a user or controller creates the object, or Gatekeeper expands it from another object."""

    @cached_property
    def cache(self) -> dict[Any, Any]:
        """Results of expressions and policies that depend only on the object and the request."""
        return _cache(repr(self.values))

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the object."""
        return labels(dig(self.document, "metadata", "labels"))

    def has_labels(self, raw: Any) -> bool:
        """Returns whether a LabelSelector selects the object. None, instead of a LabelSelector, selects all objects."""
        return raw is None or matches(selector(raw), self.labels)

    @property
    def is_namespace(self) -> bool:
        """Whether the object is a Namespace."""
        return (self.group, self.kind) == ("", "Namespace")

    @property
    def values(self) -> Body:
        """The variables of CEL expressions. If the Namespace is unknown, namespaceObject has no value."""
        values: Body = {"object": self.document, "oldObject": None, "request": self.request}
        if not self.namespace or self.scope.document is not None:
            values["namespaceObject"] = self.scope.document if self.namespace else None
        return values

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class Reviews:
    """Creates a Review for each request to create an object in one cluster."""

    def __init__(self, objects: ObjectSet) -> None:
        self._objects = objects
        self.scope = cache(self._labels)
        """Returns the labels of a namespace. An empty name means an object without a namespace."""
        self._plurals = {
            (str(dig(crd.body, "spec", "group")), str(dig(crd.body, "spec", "names", "kind"))): str(name)
            for crd in objects.of("apiextensions.k8s.io", "CustomResourceDefinition")
            if (name := dig(crd.body, "spec", "names", "plural"))
        }

    def of(self, request: Request) -> Review:
        """Returns the review of a request.

        A generated name gets a placeholder for its random part, because the API server generates names before it
        evaluates policies. The API server decodes null in its own kinds as a missing field.

        Source: k8s.io/apiserver v0.35.4 pkg/registry/generic/registry/store.go (create), pkg/registry/rest/create.go
        """
        group, _, version = str(request.document.get("apiVersion")).rpartition("/")
        kind = str(request.document.get("kind"))
        document = without_nulls(request.document) if group in _BUILT_IN else request.document
        metadata = dig(document, "metadata")
        name = str(dig(metadata, "name") or "")
        if not name and isinstance(prefix := dig(metadata, "generateName"), str) and prefix:
            name = prefix + _GENERATED_NAME
            document = {**document, "metadata": {**metadata, "name": name}}
        namespace = "" if (group, kind) == ("", "Namespace") else str(dig(metadata, "namespace") or "")
        resource = self._resource(group, version, kind)
        scope = self.scope(namespace)
        if (group, kind) == ("", "Namespace"):
            scope = NamespaceLabels({NAMESPACE_NAME: name, **labels(dig(metadata, "labels"))}, True, None)
        user = {"username": request.user, "groups": _groups(request)}
        options = {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}
        variable = request_variable((group, version, kind), resource, name, namespace, user, options)
        return Review(document, group, version, kind, resource, name, namespace, scope, variable)

    def _labels(self, namespace: str) -> NamespaceLabels:
        if not namespace:
            return NamespaceLabels({}, True)
        manifest = self._objects.find("", "Namespace", namespace)
        known = namespaces(self._objects).known_labels(namespace)
        own = {NAMESPACE_NAME: namespace, **(known or {})}
        if known is None or not (manifest or self._objects.is_complete):
            return NamespaceLabels(own, False)
        return NamespaceLabels(own, True, _namespace(namespace, own, manifest.annotations if manifest else {}))

    def _resource(self, group: str, version: str, kind: str) -> str:
        """Returns the plural name of a kind: from a CustomResourceDefinition, from the schemas of gpuc, or a guess."""
        if (group, kind) in self._plurals:
            return self._plurals[group, kind]
        api = f"{group}/{version}" if group else version
        for kubernetes in reversed(schemas.builtin_versions()):
            if (table := schemas.table(api, kind, kubernetes)) is not None and table.plural:
                return table.plural
        return plural(group, kind)


@lru_cache(maxsize=1024)
def _cache(_values: str) -> dict[Any, Any]:
    """Returns a cache for reviews with equal values. Clusters of a fleet have many equal objects."""
    return {}


def _namespace(name: str, own: Mapping[str, str], annotations: Mapping[str, str]) -> Body:
    """Returns a Namespace object with the fields that expressions can read.

    Source: k8s.io/apiserver v0.35.4 pkg/admission/plugin/cel/condition.go (CreateNamespaceObject)
    """
    metadata = {"name": name, "labels": dict(own), **({"annotations": dict(annotations)} if annotations else {})}
    return {"metadata": metadata, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def request_variable(
    kind: tuple[str, str, str], resource: str, name: str, namespace: str, user: Body, options: Body | None
) -> Body:
    """Returns the variable `request` of CEL expressions.

    Args:
        kind: the API group, the version and the kind of the object.
        resource: the plural name of the kind; empty for an object that Gatekeeper expands, whose request has none.

    Source: k8s.io/apiserver v0.35.4 pkg/admission/plugin/cel/condition.go (CreateAdmissionRequest)
    """
    type_of_kind = dict(zip(("group", "version", "kind"), kind, strict=True))
    named = (*kind[:2], resource) if resource else ("", "", "")
    type_of_resource = dict(zip(("group", "version", "resource"), named, strict=True))
    return {
        "uid": "",
        "kind": type_of_kind,
        "resource": type_of_resource,
        "requestKind": type_of_kind,
        "requestResource": type_of_resource,
        **({"name": name} if name else {}),
        **({"namespace": namespace} if namespace else {}),
        "operation": "CREATE",
        "userInfo": user,
        "dryRun": False,
        "options": options,
    }


def _groups(request: Request) -> list[str]:
    """Returns the groups of a user, with the groups that the API server adds to service accounts and all users."""
    groups = list(request.groups)
    if request.user.startswith(_SERVICE_ACCOUNT):
        namespace = request.user.removeprefix(_SERVICE_ACCOUNT).partition(":")[0]
        groups += ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return list(dict.fromkeys([*groups, _AUTHENTICATED]))


def strings(value: Any) -> list[str]:
    """Returns the strings in a list of unvalidated data; other values are left out."""
    return [text for _, text in items(value) if isinstance(text, str)]
