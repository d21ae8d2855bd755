from __future__ import annotations

from gpuc.kubernetes.kueue import GROUP
from gpuc.verify import Findings, check
from gpuc.verify.references.reference import LOCAL_QUEUE, TYPED, Reference
from gpuc.verify.subject import Subject


@check(
    "REF001",
    source="Kueue v0.19.2, pkg/cache/scheduler/clusterqueue.go (FlavorNotFound, AdmissionCheckNotFound, "
    "TopologyNotFound)",
)
def inactive_queue(subject: Subject) -> Findings:
    """A queue, flavor or admission check of Kueue refers to an object that does not exist.

    Kueue keeps the queue inactive and admits no workload of the queue. The workloads wait without an event.
    """
    return subject.unresolved(inactive_queue.rule)


ROWS = (
    Reference(LOCAL_QUEUE, "spec.clusterQueue", f"{GROUP}/ClusterQueue"),
    Reference(f"{GROUP}/ClusterQueue", "spec.resourceGroups[].flavors[].name", f"{GROUP}/ResourceFlavor"),
    Reference(f"{GROUP}/Cohort", "spec.resourceGroups[].flavors[].name", f"{GROUP}/ResourceFlavor"),
    Reference(f"{GROUP}/ClusterQueue", "spec.admissionChecks[]", f"{GROUP}/AdmissionCheck"),
    Reference(
        f"{GROUP}/ClusterQueue", "spec.admissionChecksStrategy.admissionChecks[].name", f"{GROUP}/AdmissionCheck"
    ),
    Reference(
        f"{GROUP}/ClusterQueue", "spec.admissionChecksStrategy.admissionChecks[].onFlavors[]", f"{GROUP}/ResourceFlavor"
    ),
    Reference(f"{GROUP}/ResourceFlavor", "spec.topologyName", f"{GROUP}/Topology"),
    Reference(f"{GROUP}/AdmissionCheck", "spec.parameters", TYPED),
    Reference(f"{GROUP}/MultiKueueConfig", "spec.clusters[]", f"{GROUP}/MultiKueueCluster"),
)
