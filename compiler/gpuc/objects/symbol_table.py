"""The names that other objects can reference, by kind and namespace."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, group
from gpuc.objects.operator_values import config_maps
from gpuc.objects.paths import pattern, places

Kind = tuple[str, str]
"""API group and kind; the core group is the empty text."""


def kind_of(text: str) -> Kind:
    """Returns the kind in a text such as "kueue.x-k8s.io/LocalQueue" or "ConfigMap"."""
    api_group, _, kind = text.rpartition("/")
    return api_group, kind


NAMED_BY = {"templates.gatekeeper.sh/ConstraintTemplate": "spec.crd.spec.names.kind"}
"""The path of the referenced name, for kinds whose name is not metadata.name."""

CREATORS: tuple[tuple[str, str, str], ...] = (
    ("external-secrets.io/ExternalSecret", "spec.target.name", "Secret"),
    ("external-secrets.io/ExternalSecret", "metadata.name", "Secret"),
    ("bitnami.com/SealedSecret", "metadata.name", "Secret"),
    ("cert-manager.io/Certificate", "spec.secretName", "Secret"),
    ("trust.cert-manager.io/Bundle", "metadata.name", "ConfigMap"),
    ("secrets-store.csi.x-k8s.io/SecretProviderClass", "spec.secretObjects[].secretName", "Secret"),
    ("apps/StatefulSet", "spec.volumeClaimTemplates[].metadata.name", "PersistentVolumeClaim"),
)
"""Kinds whose controllers create other objects: kind, path of the created name, created kind."""

CLUSTER_SCOPED = frozenset(
    kind_of(kind)
    for kind in (
        "karpenter.k8s.aws/EC2NodeClass",
        "karpenter.sh/NodePool",
        "kueue.x-k8s.io/AdmissionCheck",
        "kueue.x-k8s.io/ClusterQueue",
        "kueue.x-k8s.io/MultiKueueCluster",
        "kueue.x-k8s.io/MultiKueueConfig",
        "kueue.x-k8s.io/ProvisioningRequestConfig",
        "kueue.x-k8s.io/ResourceFlavor",
        "kueue.x-k8s.io/Topology",
        "kueue.x-k8s.io/WorkloadPriorityClass",
        "rbac.authorization.k8s.io/ClusterRole",
        "templates.gatekeeper.sh/ConstraintTemplate",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        "node.k8s.io/RuntimeClass",
        "resource.k8s.io/DeviceClass",
        "scheduling.k8s.io/PriorityClass",
        "storage.k8s.io/StorageClass",
        "trainer.kubeflow.org/ClusterTrainingRuntime",
        "Namespace",
        "PersistentVolume",
    )
)
"""The cluster-scoped kinds among the referenced kinds."""

_BUILT_IN = {
    kind_of(kind): re.compile(names)
    for kind, names in {
        "rbac.authorization.k8s.io/ClusterRole": r"admin|edit|view|cluster-admin|system:.*",
        "rbac.authorization.k8s.io/Role": r"system:.*|extension-apiserver-authentication-reader",
        "scheduling.k8s.io/PriorityClass": r"system-(?:cluster|node)-critical",
        "argoproj.io/AppProject": r"default",
        "ConfigMap": r"kube-root-ca\.crt|extension-apiserver-authentication|openshift-service-ca\.crt",
        "ServiceAccount": r"default",
        "Service": r"kubernetes",
    }.items()
}
"""Patterns of names that exist in every cluster: kubernetes v1.35, plugin/pkg/auth/authorizer/rbac/bootstrappolicy and
pkg/apis/scheduling; Argo CD creates the project "default"."""


_CONFIG_MAP = kind_of("ConfigMap")


class SymbolTable:
    """The names of all objects, collected by kind on first use."""

    def __init__(self, objects: ObjectSet) -> None:
        self._objects = objects
        self._offers: dict[Kind, dict[str, set[str]]] = {}
        self._within: dict[tuple[Kind, str], list[str]] = {}

    def offers(self, kind: Kind) -> dict[str, set[str]]:
        """Returns namespaces by name; the namespace is empty for cluster-scoped objects, or if a file does not contain it."""
        if kind not in self._offers:
            found: dict[str, set[str]] = {}
            is_namespaced = kind not in CLUSTER_SCOPED
            for name, manifest in self._named(kind):
                found.setdefault(name, set()).add(manifest.namespace if is_namespaced else "")
            for name in config_maps(self._objects) if kind == _CONFIG_MAP else ():
                found.setdefault(name, set()).add("")
            self._offers[kind] = found
        return self._offers[kind]

    def has(self, kind: Kind, name: str, namespace: str) -> bool:
        """Returns whether an object with the name can exist in the namespace; an empty namespace matches every namespace."""
        if (known := _BUILT_IN.get(kind)) and known.fullmatch(name):
            return True
        where = self.offers(kind).get(name, ())
        return bool(where) and (not namespace or namespace in where or "" in where)

    def within(self, kind: Kind, namespace: str) -> list[str]:
        """Returns the names of a kind in a namespace; with an empty namespace, in all namespaces."""
        key = (kind, namespace)
        if key not in self._within:
            by_name = self.offers(kind).items()
            self._within[key] = [name for name, where in by_name if not namespace or namespace in where or "" in where]
        return self._within[key]

    def name_of(self, manifest: Manifest) -> str:
        """Returns the name by which other objects reference an object."""
        where = NAMED_BY.get(f"{group(manifest)}/{manifest.kind}")
        name = dig(manifest.body, *pattern(where)) if where else manifest.name
        return name if isinstance(name, str) else manifest.name

    def _named(self, kind: Kind) -> Iterator[tuple[str, Manifest]]:
        text = "/".join(filter(None, kind))
        for manifest in self._objects.of(*kind):
            yield self.name_of(manifest), manifest
        for creator, where, created in CREATORS:
            if created == text:
                for manifest in self._objects.of(*kind_of(creator)):
                    found = places(manifest.document(), pattern(where))
                    yield from ((name, manifest) for _, name in found if isinstance(name, str))
