"""Reads which objects Gatekeeper denies in a namespace, and the Pod Security level that the namespace enforces."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpuc.admission.gatekeeper_match import excluded_namespaces, has_kind, has_namespace, in_wildcards
from gpuc.admission.pod_security import levels
from gpuc.kubernetes.api_groups import CONSTRAINTS
from gpuc.kubernetes.selector import matches
from gpuc.manifest.manifest import Manifest
from gpuc.objects.network_policies import GROUP
from gpuc.objects.object_set import ObjectSet, dig, group
from gpuc.objects.selectors import selector

ROLLOUT_ACTIONS = ("deny", "warn", "dryrun")
"""The enforcement actions of a constraint that denies objects, or that is in rollout and will deny objects later."""

Restriction = tuple[str, str, tuple[str, ...]]
"""API group and kind of the denied objects, and words that the code of the ConstraintTemplate contains."""
HOST_NETWORK: Restriction = ("", "Pod", ("hostNetwork",))
ATTACHMENTS = "k8s.v1.cni.cncf.io/networks"
"""The annotation of pods for secondary networks."""
SECONDARY_NETWORKS: Restriction = ("", "Pod", (ATTACHMENTS,))
UNCOUNTED: Restriction = ("", "Pod", ("gpuc.dev/pool", "kueue.x-k8s.io/admission", "tolerationsBefore"))
"""Pods on node pools without GPUs that neither Kueue nor a ResourceQuota counts."""
NAMED_STORAGE: Restriction = ("", "Pod", ("otherVolumes", "persistentVolumeClaim"))
"""Volumes of storage that a pod names by its address, such as an NFS server."""
PEERS: Restriction = (GROUP, "NetworkPolicy", ("ingress", "egress", "namespaceSelector"))


class Constraints:
    """The Gatekeeper constraints in a set of objects, with a search for those that apply to a whole namespace."""

    def __init__(self, objects: ObjectSet) -> None:
        templates = objects.of("templates.gatekeeper.sh", "ConstraintTemplate")
        code = {template.name: str(dig(template.body, "spec", "targets")) for template in templates}
        self._constraints = [
            (
                constraint,
                code.get(constraint.kind.lower(), ""),
                selector(dig(constraint.body, "spec", "match", "namespaceSelector") or {}),
            )
            for constraint in objects.manifests
            if group(constraint) == CONSTRAINTS
        ]
        self._excluded = objects.once(excluded_namespaces)

    def find(
        self, restriction: Restriction, namespace: str, labels: Mapping[str, str], actions: Sequence[str] = ("deny",)
    ) -> Manifest | None:
        """Returns a constraint that applies to all objects of a kind in a namespace; None if there is none.

        Args:
            labels: the labels of the namespace.
            actions: the enforcement actions that the constraint may have.
        """
        api_group, kind, words = restriction
        for constraint, code, namespaces in () if in_wildcards(self._excluded, namespace) else self._constraints:
            spec = constraint.body.get("spec")
            if (
                (dig(spec, "enforcementAction") or "deny") in actions
                and all(word in code for word in words)
                and has_kind(dig(spec, "match", "kinds"), api_group, kind)
                and _matches_all(dig(spec, "match"), namespace)
                and matches(namespaces, labels)
            ):
                return constraint
        return None


def pod_security(labels: Mapping[str, str]) -> str:
    """Returns the Pod Security level that the labels of a namespace enforce."""
    return levels(labels).enforce.name


def _matches_all(match: Any, namespace: str) -> bool:
    """Returns whether the match of a constraint includes all objects in a namespace.

    A constraint for certain labels or names does not count, because creators of objects choose labels and names.
    """
    has_choice = dig(match, "labelSelector") or dig(match, "name") or dig(match, "scope") == "Cluster"
    return not has_choice and dig(match, "source") != "Generated" and has_namespace(match, namespace)
