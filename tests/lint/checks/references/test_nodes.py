"""Labels and taints of node pools, and flavors and pods that use them, in partial input."""

from __future__ import annotations

import pytest

from tests.lint.checks.references.trees import ids, reported

POOLS = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: trainers}
spec:
  template:
    metadata: {labels: {example.com/pool: trainers}}
    spec:
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
        - {key: example.com/team, operator: Exists}
      taints:
        - {key: nvidia.com/gpu, value: present, effect: NoSchedule}
        - {key: example.com/soft, effect: PreferNoSchedule}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: web}
spec:
  template:
    metadata: {labels: {example.com/pool: web}}
    spec: {requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}
"""
MANAGED = """
apiVersion: eks.services.k8s.aws/v1alpha1
kind: Nodegroup
metadata: {name: system, namespace: default}
spec: {labels: {example.com/pool: system}}
"""


def flavor(labels: str, rest: str = "tolerations: [{key: nvidia.com/gpu, operator: Exists}]") -> str:
    """A flavor with node labels and other fields."""
    return f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {{name: trainers}}
spec: {{nodeLabels: {labels}, {rest}}}
"""


def work(spec: str, labels: str = "{}", kind: str = "Deployment") -> str:
    """A workload with a pod's spec."""
    return f"""
apiVersion: apps/v1
kind: {kind}
metadata: {{name: work, namespace: default, labels: {labels}}}
spec: {{template: {{spec: {spec}}}}}
"""


def warnings(*texts: str, is_complete: bool = False) -> list[tuple[str, str, str]]:
    """Findings except those with severity info."""
    return [row for row in reported(*texts, is_complete=is_complete) if row[0] not in ("REF061", "VER004")]


@pytest.mark.parametrize(
    "labels",
    [
        "{example.com/pool: trainers}",
        "{karpenter.sh/nodepool: trainers, karpenter.sh/capacity-type: on-demand}",
        "{example.com/pool: trainers, example.com/team: whatever}",
        "{example.com/pool: trainers, topology.kubernetes.io/zone: eu-west-1a, kubernetes.io/arch: arm64}",
        "{beta.kubernetes.io/instance-type: p5.48xlarge}",
        "{karpenter.k8s.aws/instance-gpu-name: h100}",
        "{}",
    ],
)
def test_no_finding_for_labels_of_a_pool_or_of_every_node(labels: str) -> None:
    assert warnings(POOLS, flavor(labels)) == []
    assert warnings(POOLS, flavor(labels), is_complete=True) == []


@pytest.mark.share(3)
@pytest.mark.parametrize(
    ("labels", "fix", "sure"),
    [
        ("{example.com/pool: trianers}", "write trainers", True),
        ("{example.com/pol: trainers}", "", False),
        ("{example.com/pools: trainers}", "write example.com/pool", True),
        ("{karpenter.sh/nodepool: trainer}", "write trainers", True),
        ("{karpenter.sh/capacity-type: on_demand}", "write on-demand", True),
        ("{example.com/pool: trainers, karpenter.sh/capacity-type: spot}", "", False),
        ("{nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}", "", False),
        ("{example.com/pool: web, node.kubernetes.io/instance-type: p5.48xlarge, example.com/team: a}", "", False),
    ],
)
def test_labels_that_no_pool_gives_are_reported(labels: str, fix: str, sure: bool) -> None:
    assert ("REF020", "ResourceFlavor trainers", fix) in warnings(POOLS, flavor(labels), is_complete=True)
    assert warnings(POOLS, flavor(labels)) == [("REF020" if sure else "REF090", "ResourceFlavor trainers", fix)]


def test_no_finding_without_pools_or_with_other_nodes() -> None:
    assert warnings(flavor("{example.com/pool: other}")) == []
    assert warnings(POOLS, MANAGED, flavor("{example.com/pool: other}")) == []
    assert warnings(POOLS, MANAGED, flavor("{example.com/pool: trianers}")) != []


def test_pods_select_what_pools_give() -> None:
    tolerations = "tolerations: [{operator: Exists}]"
    assert warnings(POOLS, work(f"{{nodeSelector: {{example.com/pool: trainers}}, {tolerations}}}")) == []
    misspelt = work("{nodeSelector: {example.com/pool: trianers}}")
    assert warnings(POOLS, misspelt) == [("REF021", "Deployment default/work", "write trainers")]
    other = work("{nodeSelector: {example.com/pool: managed}}")
    assert warnings(POOLS, other) == [], "other nodes may have the label"
    assert warnings(POOLS, other, is_complete=True) == [("REF021", "Deployment default/work", "")]
    devices = "containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]"
    gpus = work(f"{{nodeSelector: {{example.com/pool: managed}}, {devices}}}")
    assert warnings(POOLS, gpus) == [("REF090", "Deployment default/work", "")]
    assert warnings(POOLS, work("{nodeSelector: {example.com/pool: trianers}}", kind="DaemonSet")) == []


def test_one_term_of_an_affinity_is_enough() -> None:
    def affinity(*values: str) -> str:
        terms = ", ".join(
            f"{{matchExpressions: [{{key: example.com/pool, operator: In, values: [{value}]}}]}}" for value in values
        )
        required = f"{{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{terms}]}}}}"
        return work(f"{{affinity: {{nodeAffinity: {required}}}}}")

    assert warnings(POOLS, affinity("trianers", "web")) == []
    assert warnings(POOLS, affinity("trianers")) == [("REF021", "Deployment default/work", "write trainers")]
    assert warnings(POOLS, affinity("other"), is_complete=True) == [("REF021", "Deployment default/work", "")]


def test_flavors_tolerate_or_list_the_taints_of_their_nodes() -> None:
    labels = "{example.com/pool: trainers}"
    names = "nodeTaints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]"
    assert warnings(POOLS, flavor(labels, names)) == []
    assert warnings(POOLS, flavor(labels, "tolerations: []")) == [("REF022", "ResourceFlavor trainers", "")]
    wrong = "tolerations: [{key: nvidia.com/gpu, value: absent, effect: NoSchedule}]"
    assert warnings(POOLS, flavor(labels, wrong)) == [("REF022", "ResourceFlavor trainers", "write present")]
    key = "tolerations: [{key: nvidia.com/gpus, operator: Exists}]"
    assert warnings(POOLS, flavor(labels, key)) == [("REF022", "ResourceFlavor trainers", "write nvidia.com/gpu")]
    own = work("{tolerations: [{key: nvidia.com/gpu, operator: Exists}]}")
    assert warnings(POOLS, own, flavor(labels, "tolerations: []")) == [], "work in the input has the toleration itself"


def test_a_taint_that_only_the_flavor_lists_is_reported() -> None:
    names = "nodeTaints: [{key: nvidia.com/gpu, value: 'true', effect: NoSchedule}], tolerations: [{operator: Exists}]"
    assert warnings(POOLS, flavor("{example.com/pool: trainers}", names)) == [("REF023", "ResourceFlavor trainers", "")]


def test_pods_tolerate_the_nodes_that_they_select_or_leave_that_to_kueue() -> None:
    bare = "{nodeSelector: {example.com/pool: trainers}}"
    assert warnings(POOLS, work(bare)) == [("REF085", "Deployment default/work", "")], "other nodes may have the label"
    assert warnings(POOLS, work(bare, kind="DaemonSet")) == [("REF085", "DaemonSet default/work", "")]
    named = "{nodeSelector: {karpenter.sh/nodepool: trainers}}"
    assert warnings(POOLS, work(named)) == [("REF024", "Deployment default/work", "")]
    assert warnings(POOLS, work(bare, labels="{kueue.x-k8s.io/queue-name: a}")) == []
    tolerant = "{nodeSelector: {example.com/pool: trainers}, tolerations: [{key: nvidia.com/gpu, value: present}]}"
    assert warnings(POOLS, work(tolerant)) == []
    devices = "containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]"
    asks = f"{{nodeSelector: {{example.com/pool: trainers}}, {devices}}}"
    assert warnings(POOLS, work(asks)) == [], "an admission plugin may add the toleration for a requested resource"
    assert ids(POOLS, work(asks), is_complete=True) == ["REF024"]


GPU_POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    spec:
      requirements:
        - {key: kubernetes.io/os, operator: In, values: [linux]}
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a]}
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
      taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
"""


@pytest.mark.parametrize(
    "label",
    [
        "kubernetes.io/os: linux",
        "beta.kubernetes.io/os: linux",
        "kubernetes.io/arch: amd64",
        "topology.kubernetes.io/zone: us-east-1a",
        "topology.kubernetes.io/region: us-east-1",
        "karpenter.sh/capacity-type: on-demand",
    ],
)
def test_lint02_labels_that_all_nodes_have_select_no_node_pool(label: str) -> None:
    """Karpenter itself, and most charts, select linux: their pods run on other nodes."""
    for kind in ("Deployment", "DaemonSet"):
        assert warnings(GPU_POOL, work(f"{{nodeSelector: {{{label}}}}}", kind=kind)) == []
    assert warnings(GPU_POOL, flavor(f"{{{label}}}", "tolerations: []")) == []
    assert warnings(GPU_POOL, work("{nodeSelector: {kubernetes.io/os: linux}}"), is_complete=True) != []


def test_lint02_labels_that_other_nodes_can_have_are_a_warning() -> None:
    selector = "{node.kubernetes.io/instance-type: p5.48xlarge, kubernetes.io/os: linux}"
    assert warnings(GPU_POOL, work(f"{{nodeSelector: {selector}}}")) == [("REF085", "Deployment default/work", "")]
    assert warnings(GPU_POOL, flavor(selector, "tolerations: []")) == [("REF085", "ResourceFlavor trainers", "")]
    pool = "{karpenter.sh/nodepool: gpu}"
    assert warnings(GPU_POOL, flavor(pool, "tolerations: []")) == [("REF022", "ResourceFlavor trainers", "")]


def test_pods_tolerate_a_taint_by_its_name() -> None:
    def tolerating(*keys: str) -> list[tuple[str, str, str]]:
        tolerations = ", ".join(f"{{key: {key}, operator: Exists}}" for key in keys)
        text = work(f"{{tolerations: [{tolerations}]}}", kind="DaemonSet")
        assert warnings(POOLS, text) == warnings(POOLS, text, is_complete=True)
        return warnings(POOLS, text)

    assert tolerating("nvidia.com/gpus") == [("REF082", "DaemonSet default/work", "write nvidia.com/gpu")]
    assert tolerating("nvidia.com/gpu") == tolerating("amd.com/gpu") == tolerating("example.com/team") == []
    assert tolerating("nvidia.com/gpus", "nvidia.com/gpu") == [], "both keys are intended"


QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: trainers}
spec: {resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: trainers}]}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: a, namespace: b}
spec: {clusterQueue: trainers}
"""


def test_a_taint_of_a_covered_device_may_be_tolerated_by_admission() -> None:
    bare = flavor("{example.com/pool: trainers}", "tolerations: []")
    assert ("REF084", "ResourceFlavor trainers", "") in warnings(POOLS, bare, QUEUE)
    assert ("REF022", "ResourceFlavor trainers", "") in warnings(POOLS, bare, QUEUE, is_complete=True)
