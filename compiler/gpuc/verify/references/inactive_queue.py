from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpuc.kubernetes.kueue import GROUP
from gpuc.verify import check
from gpuc.verify.references.reference import LOCAL_QUEUE, TYPED, Reference

if TYPE_CHECKING:
    from gpuc.objects.object_finding import ObjectFinding
    from gpuc.verify.subject import Subject


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
    Reference(LOCAL_QUEUE, "spec.clusterQueue", f"{GROUP}/ClusterQueue", _RULE),
    Reference(
        f"{GROUP}/ClusterQueue",
        "spec.resourceGroups[].flavors[].name",
        f"{GROUP}/ResourceFlavor",
        _RULE,
    ),
    Reference(f"{GROUP}/Cohort", "spec.resourceGroups[].flavors[].name", f"{GROUP}/ResourceFlavor", _RULE),
    Reference(f"{GROUP}/ClusterQueue", "spec.admissionChecks[]", f"{GROUP}/AdmissionCheck", _RULE),
    Reference(
        f"{GROUP}/ClusterQueue",
        "spec.admissionChecksStrategy.admissionChecks[].name",
        f"{GROUP}/AdmissionCheck",
        _RULE,
    ),
    Reference(
        f"{GROUP}/ClusterQueue",
        "spec.admissionChecksStrategy.admissionChecks[].onFlavors[]",
        f"{GROUP}/ResourceFlavor",
        _RULE,
    ),
    Reference(f"{GROUP}/ResourceFlavor", "spec.topologyName", f"{GROUP}/Topology", _RULE),
    Reference(f"{GROUP}/AdmissionCheck", "spec.parameters", TYPED, _RULE),
    Reference(f"{GROUP}/MultiKueueConfig", "spec.clusters[]", f"{GROUP}/MultiKueueCluster", _RULE),
)
"""The fields of the references that the check covers."""
