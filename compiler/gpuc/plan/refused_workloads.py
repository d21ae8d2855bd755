"""Finds the workloads and other objects that the cluster accepts before a change and refuses after it."""

from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from gpuc.admission.policies import Policies
from gpuc.admission.request import Request
from gpuc.diagnostics.words import first_names
from gpuc.kubernetes.api_groups import KARPENTER, KARPENTER_AWS
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import group, grouped
from gpuc.plan.change import Change
from gpuc.plan.rights import state_with_roles
from gpuc.plan.state import State
from gpuc.trace.cluster_index import ClusterIndex
from gpuc.trace.created import MEMBER
from gpuc.trace.node_agents import index_of
from gpuc.trace.steps import Stage, Step
from gpuc.trace.tracer import trace_workload
from gpuc.trace.workload import workload_of

_PARTS = ("ReplicaSet", "ControllerRevision")
"""Kinds that controllers create from the objects of users."""
_OTHER_GROUPS = ("cilium.io", "flowcontrol.apiserver.k8s.io", "monitoring.coreos.com", "policy")
"""API groups whose objects have no effect on a trace."""
_NODE_GROUPS = (KARPENTER, KARPENTER_AWS, *_OTHER_GROUPS)
"""API groups whose objects have no effect on the creation of objects."""
_NAMES = 5
"""The maximum number of workloads in a message."""
_SEVERITY = {"pending": 1, "refused": 2}
"""The verdicts of a trace with which a workload does not start. A refused workload is worse than pending pods."""


class RefusedWorkload(Struct, frozen=True):
    """A workload that starts before the change, but is refused or finds no node after it."""

    manifest: Manifest
    step: Step
    """The first failed step of the trace in the state after."""
    verdict: str
    """ "refused" if the workload is refused, "pending" if no node accepts its pods."""

    @property
    def outcome(self) -> str:
        """The effect: "suspended" if a queue keeps the workload suspended; else "refused" or "pending"."""
        is_queue = self.step.manifest is not None and self.step.manifest.kind in ("ClusterQueue", "LocalQueue")
        return "suspended" if is_queue else self.verdict

    @property
    def reason(self) -> str:
        """Why the workload does not start, in one line: the object that refuses or delays it, and the message."""
        is_named = self.step.manifest is None or self.step.manifest.name in self.step.message
        by = "" if is_named else f"{self.step.manifest}: "
        return " ".join(f"{by}{self.step.message}".split())


def named(found: list[RefusedWorkload]) -> tuple[str, tuple[str, ...]]:
    """Returns the names of the first five workloads, and a sentence with the remaining names if there are more."""
    names = [str(workload.manifest) for workload in found]
    others = (f"the others: {', '.join(names[_NAMES:])}",) if len(names) > _NAMES else ()
    return first_names(names, _NAMES), others


def by_decision(found: Iterable[RefusedWorkload]) -> Iterator[list[RefusedWorkload]]:
    """Yields groups of workloads that are refused or stay pending because of the same object, for example a policy."""
    yield from grouped(found, lambda workload: (workload.verdict, str(workload.step.manifest))).values()


@lru_cache(maxsize=2)
def refused_workloads(change: Change) -> tuple[RefusedWorkload, ...]:
    """Returns the objects from --workloads that would not start again. If no object changes, the result is empty."""
    return tuple(_refused(change, change.workloads)) if change.workloads and _has_changes(change) else ()


@lru_cache(maxsize=2)
def refused_templates(change: Change) -> tuple[RefusedWorkload, ...]:
    """Returns the workload templates, which users copy, that work before the change and do not work after it."""
    return tuple(_refused(change, change.before.templates)) if _has_changes(change) else ()


def _has_changes(change: Change, ignored: tuple[str, ...] = _OTHER_GROUPS) -> bool:
    return any(pair.fields for pair in change.all_pairs if group(pair.manifest) not in ignored)


def _refused(change: Change, manifests: Iterable[Manifest]) -> Iterator[RefusedWorkload]:
    namespaces = set(change.after.objects.namespaces)
    # If only nodes change, the API server decides about the workload as before, and most traces end here.
    only_nodes = not _has_changes(change, _NODE_GROUPS)
    for manifest in manifests:
        workload = workload_of(manifest)
        if manifest.kind in _PARTS or manifest.namespace not in namespaces:
            continue
        if workload is None:
            if (step := _refusal(change.after, manifest)) and _refusal(change.before, manifest) is None:
                yield RefusedWorkload(manifest, step, "refused")
            continue
        index = cluster_index(state_with_roles(change))
        if only_nodes and trace_workload(index, workload, creation=False).verdict not in _SEVERITY:
            continue
        after = trace_workload(index, workload)
        if after.verdict not in _SEVERITY or after.failure is None:
            continue
        if _SEVERITY.get(trace_workload(cluster_index(change.before), workload).verdict, 0) < _SEVERITY[after.verdict]:
            yield RefusedWorkload(manifest, after.failure, after.verdict)


def _refusal(state: State, manifest: Manifest) -> Step | None:
    """Returns the refusal of an object without pods, such as an Ingress, by a policy; None if no policy refuses it."""
    decisions = state.objects.once(Policies).decide(Request(manifest.document(), MEMBER))
    denied = next((decision for decision in decisions if decision.outcome == "denied"), None)
    return Step(Stage.POLICY, "failed", denied.message, denied.manifest, denied.path) if denied else None


@lru_cache(maxsize=4)
def cluster_index(state: State) -> ClusterIndex:
    """Returns an index of the objects of a state, which `gpuc trace` reads."""
    cluster, objects = state.cluster, state.objects
    return index_of(cluster, objects.manifests, objects.values) if cluster else ClusterIndex(objects)
