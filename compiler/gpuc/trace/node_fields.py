"""The fields and volumes with which a workload selects nodes, and wrong terms of node affinity."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.api_groups import STORAGE
from gpuc.kubernetes.node_pool import AFTER_BOOT, is_restricted
from gpuc.kubernetes.selector import NODE_OPERATORS, Requirement, Selector, equals
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig, items, labels
from gpuc.objects.selectors import NODE_TERMS, node_term, valid_requirements
from gpuc.trace.nodes import MatchingPool, UnschedulableReason
from gpuc.trace.steps import Judgement, Stage, Step, failed_if
from gpuc.trace.workload import PodSet

_PREFERRED: Path = ("affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")


class _Fault(NamedTuple):
    """A part of the node selection of pods that the scheduler or Karpenter does not accept."""

    path: Path
    """The path in the spec of the pods."""
    message: str
    fix: str


def field_of(pods: PodSet, wanted: Requirement) -> Path:
    """Returns the path in the workload of a requirement on node labels.

    The path is empty if the pods do not contain the requirement, for example because it comes from a flavor.
    """
    spec: Path = (*pods.path, "spec")
    value = labels(dig(pods.pod, "nodeSelector")).get(wanted.key)
    if value is not None and equals(wanted.key, value) == wanted:
        return (*spec, "nodeSelector", wanted.key)
    for number, term in items(dig(pods.pod, *NODE_TERMS)):
        for index, row in items(dig(term, "matchExpressions")):
            if [*valid_requirements([row], NODE_OPERATORS)] == [wanted]:
                return (*spec, *NODE_TERMS, number, "matchExpressions", index)
    return ()


def reason_step(stage: Stage, reason: UnschedulableReason, pods: PodSet) -> Step:
    """Returns a failed check for pods that no node accepts. Its message is the reason."""
    field = field_of(pods, reason.wanted) if reason.wanted else ()
    manifest, path = reason.manifest, reason.path
    return Step(stage, "failed", reason.message, manifest, path, pods.name, reason.fix, field, reason.summary)


def selection_step(pods: PodSet, found: Sequence[MatchingPool], *, is_complete: bool) -> Step | None:
    """Returns a failed or unknown check if the scheduler or Karpenter does not accept the pods' node selection.

    Otherwise returns None.

    The API server accepts a comparison with a value that is not an integer. The scheduler then ignores the term, and
    Karpenter starts no node for the pods, also if another term is valid. If the preferred node affinity has such a
    term, the scheduler fails unless exactly one node accepts the pods. Karpenter also starts no node for pods that
    select nodes by a restricted label. Existing nodes can have labels that no object shows.

    Args:
        found: the node pools that accept the pods because of other terms.
        is_complete: whether all nodes come from the node pools of the input.

    Source: k8s.io/component-helpers v0.35 scheduling/corev1/nodeaffinity/nodeaffinity.go; k8s.io/kubernetes v1.35.4
    pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go (PreScore); sigs.k8s.io/karpenter v1.14.1
    pkg/controllers/provisioning/provisioner.go (Validate), pkg/apis/v1/nodeclaim_validation.go (ValidateRequirement)
    """
    terms = [list(_faults((*NODE_TERMS, index), term)) for index, term in items(dig(pods.pod, *NODE_TERMS))]
    if terms and all(terms):
        return _step(pods, terms[0][0], "failed", "so no node matches")
    are_static = [match.pool.is_static for match in found]
    refused = [fault for faults in terms for fault in faults if fault.path[-1] == "values"] + list(_restricted(pods))
    if refused and not (are_static and all(are_static)):
        verdict = failed_if(is_complete and not any(are_static))
        return _step(pods, refused[0], verdict, "so Karpenter starts no node for the pods")
    existing = [match.pool for match in found if match.pool.is_static]
    for path, key in _keys(pods):
        if key.startswith(AFTER_BOOT) and any(key not in pool.offer for pool in existing):
            fault = _Fault(path, f"the input does not show the label {key} of existing nodes", "")
            return _step(pods, fault, "unknown", "which programs on the nodes set")
    for index, row in items(dig(pods.pod, *_PREFERRED)):
        for fault in _comparisons((*_PREFERRED, index, "preference"), dig(row, "preference")):
            return _step(pods, fault, "unknown", "so the scheduler fails if several nodes accept the pods")
    return None


def _faults(path: Path, term: Any) -> Iterator[_Fault]:
    """Yields the reasons why a required term matches no node."""
    if not dig(term, "matchExpressions") and not dig(term, "matchFields"):
        yield _Fault(path, "the term of nodeAffinity is empty", "remove the term, or add a requirement")
    yield from _comparisons(path, term)


def _comparisons(path: Path, term: Any) -> Iterator[_Fault]:
    """Yields the comparisons of a term with a value that is not an integer."""
    for index, row in items(dig(term, "matchExpressions")):
        if dig(row, "operator") in ("Gt", "Lt") and not any(valid_requirements([row], NODE_OPERATORS)):
            key, operator, values = (dig(row, field) for field in ("key", "operator", "values"))
            shown = ", ".join(str(value) for _, value in items(values))
            message = f"nodeAffinity compares {key} with {operator} {shown}, which is not an integer"
            yield _Fault((*path, "matchExpressions", index, "values"), message, "write one integer without a unit")


def _restricted(pods: PodSet) -> Iterator[_Fault]:
    """Yields the requirements for labels by which Karpenter lets no pod select nodes."""
    for path, key in _keys(pods):
        if is_restricted(key):
            message = f"the pods select nodes by the label {key}, which Karpenter does not allow"
            yield _Fault(path, message, f"do not select nodes by {key}")


def _keys(pods: PodSet) -> Iterator[tuple[Path, str]]:
    """Yields the labels by which pods select nodes, with their paths in the spec of the pods."""
    yield from ((("nodeSelector", key), key) for key in labels(dig(pods.pod, "nodeSelector")))
    for number, term in items(dig(pods.pod, *NODE_TERMS)):
        for index, row in items(dig(term, "matchExpressions")):
            yield (*NODE_TERMS, number, "matchExpressions", index), str(dig(row, "key"))


def _step(pods: PodSet, fault: _Fault, verdict: Judgement, consequence: str) -> Step:
    field = (*pods.path, "spec", *fault.path)
    message = f"{fault.message}, {consequence}"
    return Step(Stage.NODE_POOL, verdict, message, pods=pods.name, fix=fault.fix, field=field)


class VolumeTerms(NamedTuple):
    """The node selector terms of a pod, combined with the node requirements of its volumes."""

    terms: tuple[Selector, ...]
    unknown: str = ""
    """A text about a volume whose zone the input does not show; or an empty string."""
    holders: tuple[tuple[Manifest, Path, str], ...] = ()
    """The objects with such requirements, with their path and the requirements as text."""
    modes: frozenset[str] = frozenset()
    """The access modes of the volumes that all pods share."""

    def step(self, step: Step) -> Step:
        """Returns the failed check `step`. If a volume restricts the nodes of the pods, the check names the volume."""
        if not self.holders:
            return step
        named = (holder for holder in self.holders if any(text in step.message for text in holder[2].splitlines()))
        manifest, path, _ = next(named, self.holders[-1])
        message = f"{manifest} decides where the pods run: {step.message}"
        fix = "use a volume that nodes of the pool reach"
        return step._replace(message=message, manifest=manifest, path=path, fix=fix, field=())


def with_volume_terms(objects: ObjectSet, pods: PodSet, namespace: str, terms: tuple[Selector, ...]) -> VolumeTerms:
    """Returns the node selector terms of a pod, combined with the node requirements of its volumes."""
    holders, modes = list[tuple[Manifest, Path, str]](), frozenset[str]()
    for claim, is_shared in _claims(objects, pods, namespace):
        modes |= {str(mode) for _, mode in items(dig(claim, "accessModes")) if is_shared}
        volume, name = dig(claim, "volumeName"), dig(claim, "storageClassName")
        alternatives: tuple[Selector, ...] = ()
        if isinstance(volume, str) and volume:
            manifest = objects.find("", "PersistentVolume", volume)
            if manifest is None:
                return VolumeTerms(terms, f"the input does not show the zone of PersistentVolume {volume}")
            path: Path = ("spec", "nodeAffinity", "required", "nodeSelectorTerms")
            alternatives = tuple(node_term(row) for _, row in items(dig(manifest.body, *path)))
        elif isinstance(name, str) and (manifest := objects.find(STORAGE, "StorageClass", name)) is not None:
            path = ("allowedTopologies",)
            allowed = [items(dig(row, "matchLabelExpressions")) for _, row in items(dig(manifest.body, *path))]
            alternatives = tuple(
                node_term({"matchExpressions": [{**row, "operator": "In"} for _, row in rows if isinstance(row, dict)]})
                for rows in allowed
            )
        if alternatives and manifest:
            holders.append((manifest, path, "\n".join(str(row) for term in alternatives for row in term)))
            terms = tuple((*term, *more) for term in terms for more in alternatives)
    return VolumeTerms(terms, holders=tuple(holders), modes=modes)


def _claims(objects: ObjectSet, pods: PodSet, namespace: str) -> Iterator[tuple[Any, bool]]:
    """Yields the specs of a pod's claims in the input or in templates, and whether all pods share the claim."""
    yield from ((dig(claim, "spec"), False) for claim in pods.claims)
    for _, volume in items(dig(pods.pod, "volumes")):
        claim = dig(volume, "persistentVolumeClaim", "claimName")
        if isinstance(claim, str) and (manifest := objects.find("", "PersistentVolumeClaim", claim, namespace)):
            yield dig(manifest.body, "spec"), True
        yield dig(volume, "ephemeral", "volumeClaimTemplate", "spec"), False
