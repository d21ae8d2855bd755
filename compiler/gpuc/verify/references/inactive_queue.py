from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.verify import check
from gpuc.verify.references.reference import TYPED, Reference

if TYPE_CHECKING:
    from gpuc.objects.object_finding import ObjectFinding
    from gpuc.verify.subject import Subject

_KUEUE = "kueue.x-k8s.io"
_LOCAL = f"{_KUEUE}/LocalQueue"


@check(
    "REF001",
    source="Kueue v0.19.2, pkg/cache/scheduler/clusterqueue.go (FlavorNotFound, AdmissionCheckNotFound, "
    "TopologyNotFound)",
)
def inactive_queue(subject: Subject) -> Iterator[ObjectFinding]:
    """A queue, flavor or admission check of Kueue refers to an object that does not exist.

    Kueue keeps the queue inactive and admits no workload of the queue. The workloads wait without an event.
    """
    return subject.unresolved(inactive_queue.rule)


_RULE = inactive_queue.rule
ROWS = (
    Reference(_LOCAL, "spec.clusterQueue", f"{_KUEUE}/ClusterQueue", _RULE),
    Reference(
        f"{_KUEUE}/ClusterQueue",
        "spec.resourceGroups[].flavors[].name",
        f"{_KUEUE}/ResourceFlavor",
        _RULE,
    ),
    Reference(f"{_KUEUE}/Cohort", "spec.resourceGroups[].flavors[].name", f"{_KUEUE}/ResourceFlavor", _RULE),
    Reference(f"{_KUEUE}/ClusterQueue", "spec.admissionChecks[]", f"{_KUEUE}/AdmissionCheck", _RULE),
    Reference(
        f"{_KUEUE}/ClusterQueue",
        "spec.admissionChecksStrategy.admissionChecks[].name",
        f"{_KUEUE}/AdmissionCheck",
        _RULE,
    ),
    Reference(
        f"{_KUEUE}/ClusterQueue",
        "spec.admissionChecksStrategy.admissionChecks[].onFlavors[]",
        f"{_KUEUE}/ResourceFlavor",
        _RULE,
    ),
    Reference(f"{_KUEUE}/ResourceFlavor", "spec.topologyName", f"{_KUEUE}/Topology", _RULE),
    Reference(f"{_KUEUE}/AdmissionCheck", "spec.parameters", TYPED, _RULE),
    Reference(f"{_KUEUE}/MultiKueueConfig", "spec.clusters[]", f"{_KUEUE}/MultiKueueCluster", _RULE),
)
"""The fields of the references that the check covers."""
