"""Misspelt names that are no names of objects: keys of labels, and hashes; MIG layouts that fit no GPU."""

from __future__ import annotations

from tests.lint.checks.references.trees import ids, reported

POOL = """
    apiVersion: karpenter.sh/v1
    kind: NodePool
    metadata: {name: a}
    spec: {template: {metadata: {labels: {example.com/block: b}}, spec: {}}}
    """
TOPOLOGY = """
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: Topology
    metadata: {name: t}
    spec: {levels: [{nodeLabel: %s}, {nodeLabel: kubernetes.io/hostname}]}
    """


def test_levels_of_a_topology_are_labels_of_nodes() -> None:
    assert ("REF034", "Topology t", "write example.com/block") in reported(POOL, TOPOLOGY % "example.com/blocks")
    for key in ("example.com/block", "topology.k8s.aws/network-node-layer-1", "example.com/hall"):
        assert "REF034" not in ids(POOL, TOPOLOGY % key)


PODS = """
    apiVersion: v1
    kind: Pod
    metadata: {name: p, namespace: ns, labels: {app: web}}
    spec:
      containers: [{name: c, envFrom: [{configMapRef: {name: %s}}]}]
    """
SERVICE = """
    apiVersion: v1
    kind: Service
    metadata: {name: s, namespace: ns}
    spec: {selector: {%s: web}, ports: [{port: 80}]}
    """
GENERATED = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: settings-5t8g6k2mhb, namespace: ns}
    """


def test_a_misspelt_key_of_a_selector_is_reported() -> None:
    assert ("REF032", "Service ns/s", "write app") in reported(PODS % "x", SERVICE % "apps")
    assert "REF032" not in ids(PODS % "x", SERVICE % "role"), "other files may have such pods"


def test_another_hash_of_kustomize_is_another_name() -> None:
    assert ("REF090", "Pod ns/p", "write settings-5t8g6k2mhb") in reported(PODS % "settings-8mk2t6g5bh", GENERATED)
    assert "REF090" not in ids(PODS % "settings-of-another", GENERATED)


LAYOUTS = """
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: mig, namespace: gpu-operator}
    data:
      config.yaml: |
        version: v1
        mig-configs:
          a:
            - {devices: all, mig-enabled: true, mig-devices: {%s}}
    """


def test_layouts_fit_on_some_gpu() -> None:
    for wrong in ("3g.40gb: 3", "1g.10gb: 8", "3g.20gb: 2, 1g.5gb: 1", "7g.80gb: 1, 1g.10gb: 1"):
        assert "REF035" in ids(LAYOUTS % wrong)
    for right in ("1g.10gb: 7", "3g.40gb: 2", "1g.5gb: 2, 2g.10gb: 1, 3g.20gb: 1", "1g.5gb+me: 1", "odd: 99"):
        assert "REF035" not in ids(LAYOUTS % right)
