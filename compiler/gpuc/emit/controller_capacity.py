"""What the controller of Karpenter needs to run reliably: its resources, and its priority at the API server."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.sync import wave
from gpuc.kubernetes.amounts import CPU, GIB, MEMORY, texts
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster

API = "flowcontrol.apiserver.k8s.io/v1"
NODES_PER_STEP = 200
"""The number of nodes for which the controller gets another CPU core and another GiB of memory."""


def controller_resources(cluster: Cluster) -> Body:
    """Returns the resources of the controller: requests equal to limits, so that the pod is Guaranteed.

    Without requests, the controller is the first pod that a system node under memory pressure kills. One core and 1Gi
    are the values of Karpenter's installation guide. The step for larger clusters is an estimate: Karpenter's own tests
    use 3Gi.

    Source: aws/karpenter-provider-aws v1.14.1 website/content/en/docs/getting-started (step08-apply-helm-chart.sh),
    test/hack/e2e_scripts/install_karpenter.sh
    """
    steps = 1 + sum(pool.nodes_max for pool in cluster.pools) // NODES_PER_STEP
    amounts = texts({CPU: 1000 * steps, MEMORY: steps * GIB})
    return {"requests": amounts, "limits": dict(amounts)}


def flow_schemas(cluster: Cluster) -> Iterator[Manifest]:
    """Yields the FlowSchemas that give the controller the API priority of a controller in kube-system.

    Outside of kube-system, the requests of a controller share a priority level with the requests of all workloads. If
    one of them overloads the API server, Karpenter loses its leader election, and starts no nodes.

    Source: aws/karpenter-provider-aws v1.14.1 website/content/en/docs/getting-started, preventing APIServer request
    throttling
    """
    namespace = cluster.components["karpenter"].namespace
    leases: Body = {
        "apiGroups": ["coordination.k8s.io"],
        "namespaces": [namespace],
        "resources": ["leases"],
        "verbs": ["create", "get", "update"],
    }
    everything: Body = {
        "apiGroups": ["*"],
        "clusterScope": True,
        "namespaces": ["*"],
        "resources": ["*"],
        "verbs": ["*"],
    }
    urls: Body = {"nonResourceURLs": ["*"], "verbs": ["*"]}
    yield _flow_schema(cluster, "leader-election", 200, "leader-election", {"resourceRules": [leases]})
    # The FlowSchema service-accounts, which all other ServiceAccounts use, has the precedence 9000.
    rules: Body = {"resourceRules": [everything], "nonResourceRules": [urls]}
    yield _flow_schema(cluster, "workload", 1000, "workload-high", rules)


def _flow_schema(cluster: Cluster, name: str, precedence: int, level: str, rules: Body) -> Manifest:
    account = {"name": "karpenter", "namespace": cluster.components["karpenter"].namespace}
    subjects = [{"kind": "ServiceAccount", "serviceAccount": account}]
    spec: Body = {
        "distinguisherMethod": {"type": "ByUser"},
        "matchingPrecedence": precedence,
        "priorityLevelConfiguration": {"name": level},
        "rules": [{"subjects": subjects, **rules}],
    }
    return Manifest(
        file=cluster.out("karpenter/config/flow-schemas.yaml"),
        origin=("spec", "cloud", "aws"),
        api=API,
        kind="FlowSchema",
        name=f"karpenter-{name}",
        annotations=wave(0),
        body={"spec": spec},
    )
