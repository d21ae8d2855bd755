"""What one part of an object expects of another part of it, which schemas cannot say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gpuc.diagnostics.finding import Path, Severity, declare_rule
from gpuc.lint.checks.pod_security import pod_security
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, items, pairs
from gpuc.objects.pods import Pods, pods_of
from gpuc.objects.selectors import wanted_labels

NOT_ITS_PODS = declare_rule(
    "OBJ001", Severity.ERROR, "A workload's selector does not match the labels of its own pods.",
    "The API server refuses it.", "k8s.io/kubernetes v1.35 pkg/apis/apps/validation/validation.go",
)  # fmt: skip
NO_VOLUME = declare_rule(
    "OBJ002", Severity.ERROR, "A container mounts a volume that its pod does not have.",
    "The API server refuses the pod, or its controller never makes one.",
    "k8s.io/kubernetes v1.35 pkg/apis/core/validation/validation.go",
)  # fmt: skip
SAME_NAME = declare_rule(
    "OBJ003", Severity.ERROR, "Two containers or volumes of one pod have the same name.",
    "The API server refuses the pod.", "k8s.io/kubernetes v1.35 pkg/apis/core/validation/validation.go",
)  # fmt: skip
NOT_COVERED = declare_rule(
    "OBJ004", Severity.ERROR, "A flavor's resources are not those that its group covers, in their order.",
    "Kueue's webhook refuses the ClusterQueue.", "kueue v0.19.2 pkg/webhooks/clusterqueue_webhook.go",
)  # fmt: skip
BINDS_NOBODY = declare_rule(
    "OBJ006", Severity.WARNING, "A binding of a role has no subjects.",
    "Nobody gets the rights, and nothing says so.",
)  # fmt: skip
TOO_FEW_NODES = declare_rule(
    "OBJ007", Severity.ERROR, "A static node pool may have fewer nodes than it wants.",
    "Karpenter starts as many as the limit allows, and gangs that need all of them wait.",
    "karpenter v1.14.1 pkg/controllers/static/provisioning",
)  # fmt: skip
NOT_STATIC = declare_rule(
    "OBJ023", Severity.ERROR, "A static node pool has what only dynamic ones take.",
    "The API server refuses the NodePool.", "karpenter v1.14.1 pkg/apis/v1/nodepool.go (XValidation of NodePoolSpec)",
)  # fmt: skip
_SELECTING = frozenset(("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"))


def findings(tree: ObjectSet) -> Iterator[ObjectFinding]:
    """Selectors, volumes and names within each workload."""
    for manifest in tree.manifests:
        yield from pod_security(manifest)
        if manifest.kind == "NodePool":
            yield from _replicas(manifest)
        elif manifest.kind == "ClusterQueue":
            yield from _covered(manifest)
        elif manifest.kind in ("RoleBinding", "ClusterRoleBinding") and not manifest.body.get("subjects"):
            yield ObjectFinding(BINDS_NOBODY, manifest, ("subjects",), "it names no subjects")
        for pods in pods_of(manifest):
            if manifest.kind in _SELECTING:
                yield from _selector(pods)
            yield from _pod(pods)


def _replicas(manifest: Manifest) -> Iterator[ObjectFinding]:
    wanted, most = dig(manifest.body, "spec", "replicas"), str(dig(manifest.body, "spec", "limits", "nodes"))
    if wanted is not None:
        for key in dict(pairs(dig(manifest.body, "spec", "limits"))):
            if key != "nodes":
                message = "a static node pool (spec.replicas) takes no limit but nodes"
                yield ObjectFinding(NOT_STATIC, manifest, ("spec", "limits", str(key)), message, on_key=True)
        if dig(manifest.body, "spec", "weight") is not None:
            message = "a static node pool (spec.replicas) takes no weight"
            yield ObjectFinding(NOT_STATIC, manifest, ("spec", "weight"), message, on_key=True)
    if isinstance(wanted, int) and most.isdigit() and 0 < int(most) < wanted:  # none is a pool that is taken away
        yield ObjectFinding(
            TOO_FEW_NODES, manifest, ("spec", "limits", "nodes"), f"at most {most}, and replicas is {wanted}"
        )


def _covered(manifest: Manifest) -> Iterator[ObjectFinding]:
    for number, part in items(dig(manifest.body, "spec", "resourceGroups")):
        covered = [each for _, each in items(dig(part, "coveredResources"))]
        for index, flavor in items(dig(part, "flavors")):
            named = [dig(each, "name") for _, each in items(dig(flavor, "resources"))]
            if named != covered:
                path = ("spec", "resourceGroups", number, "flavors", index, "resources")
                text = f"{', '.join(map(str, named))}; the group covers {', '.join(map(str, covered))}"
                yield ObjectFinding(NOT_COVERED, manifest, path, text)


def _selector(pods: Pods) -> Iterator[ObjectFinding]:
    for _, key, values in wanted_labels(dig(pods.manifest.body, "spec", "selector"), ()):
        seen = pods.labels.get(key)
        if seen not in values:
            where: Path = (*pods.path, "metadata", "labels", *([key] if seen is not None else []))
            has = f'its pods have "{seen}"' if seen is not None else "its pods do not have it"
            message = f'the selector asks for "{key}: {" or ".join(values)}", {has}'
            yield ObjectFinding(NOT_ITS_PODS, pods.manifest, where, message)


def _pod(pods: Pods) -> Iterator[ObjectFinding]:
    manifest, pod, path = pods.manifest, pods.spec, (*pods.path, "spec")
    claims = dig(manifest.body, "spec", "volumeClaimTemplates")
    volumes = [str(dig(each, "name")) for _, each in items(dig(pod, "volumes"))]
    known = {*volumes, *(str(dig(each, "metadata", "name")) for _, each in items(claims))}
    names: list[str] = []
    for part in ("initContainers", "containers"):
        for index, container in items(dig(pod, part)):
            names.append(str(dig(container, "name")))
            for number, mount in items(dig(container, "volumeMounts")):
                name = dig(mount, "name")
                if isinstance(name, str) and name not in known:
                    there = f"there are {', '.join(sorted(known))}" if known else "it has none"
                    place = (*path, part, index, "volumeMounts", number, "name")
                    yield ObjectFinding(NO_VOLUME, manifest, place, f'the pod has no volume "{name}"; {there}')
    for what, found in (("containers", names), ("volumes", volumes)):
        for name, count in Counter(found).items():
            if count > 1 and name != "None":
                yield ObjectFinding(SAME_NAME, manifest, (*path, what), f'{count} {what} have the name "{name}"')
