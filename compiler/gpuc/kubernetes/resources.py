"""Resources as kubectl names them: plural, singular and short names of what ships with Kubernetes, and of GPU clusters.

Source: k8s.io/kubernetes v1.35.4 pkg/registry (ShortNames); the CRDs of karpenter v1.14.1, kueue v0.19.2
"""

from __future__ import annotations

from typing import NamedTuple


class Resource(NamedTuple):
    """A resource of the API."""

    group: str
    name: str
    is_cluster: bool = False
    """Whether its objects have no namespace."""

    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name


_NAMESPACED: tuple[tuple[str, str], ...] = (
    ("", "pods/pod/po services/service/svc configmaps/configmap/cm secrets/secret events/event/ev"
     " serviceaccounts/serviceaccount/sa persistentvolumeclaims/persistentvolumeclaim/pvc endpoints/ep"
     " resourcequotas/resourcequota/quota limitranges/limitrange/limits"
     " replicationcontrollers/replicationcontroller/rc"),
    ("apps", "deployments/deployment/deploy daemonsets/daemonset/ds statefulsets/statefulset/sts"
     " replicasets/replicaset/rs"),
    ("batch", "jobs/job cronjobs/cronjob/cj"),
    ("networking.k8s.io", "networkpolicies/networkpolicy/netpol ingresses/ingress/ing"),
    ("policy", "poddisruptionbudgets/poddisruptionbudget/pdb"),
    ("coordination.k8s.io", "leases/lease"),
    ("rbac.authorization.k8s.io", "roles/role rolebindings/rolebinding"),
    ("kueue.x-k8s.io", "workloads/workload/kwl localqueues/localqueue/lq/queue/queues"),
    ("jobset.x-k8s.io", "jobsets/jobset"),
)  # fmt: skip
_OF_CLUSTER: tuple[tuple[str, str], ...] = (
    ("", "nodes/node/no namespaces/namespace/ns persistentvolumes/persistentvolume/pv"),
    ("rbac.authorization.k8s.io", "clusterroles/clusterrole clusterrolebindings/clusterrolebinding"),
    ("apiextensions.k8s.io", "customresourcedefinitions/customresourcedefinition/crd/crds"),
    ("storage.k8s.io", "storageclasses/storageclass/sc"),
    ("scheduling.k8s.io", "priorityclasses/priorityclass/pc"),
    ("karpenter.sh", "nodepools/nodepool nodeclaims/nodeclaim nodeoverlays/nodeoverlay/overlays"),
    ("karpenter.k8s.aws", "ec2nodeclasses/ec2nodeclass/ec2nc/ec2ncs"),
    ("kueue.x-k8s.io", "clusterqueues/clusterqueue/cq resourceflavors/resourceflavor/flavor/flavors/rf"
     " cohorts/cohort workloadpriorityclasses/workloadpriorityclass"),
)  # fmt: skip


def _by_name() -> dict[str, Resource]:
    found: dict[str, Resource] = {}
    for rows, is_cluster in ((_NAMESPACED, False), (_OF_CLUSTER, True)):
        for group, words in rows:
            for names in words.split():
                plural = names.partition("/")[0]
                for name in names.split("/"):
                    resource = Resource(group, plural, is_cluster)
                    found[name] = resource
                    if group:
                        found[f"{name}.{group}"] = resource
    return found


RESOURCES: dict[str, Resource] = _by_name()
"""By every name that kubectl takes for one."""
