"""System nodes: their taint, and the priority that pods of tenants must not have."""

from __future__ import annotations

from typing import Any

from gpuc.components.gatekeeper.component import gatekeeper
from gpuc.components.gpu_operator.component import gpu_operator
from gpuc.components.kueue.component import kueue
from gpuc.emit.tenants import SYSTEM_PRIORITY_CLASSES, tenants
from gpuc.manifest.manifest import Manifest, Values
from gpuc.model import Cluster
from gpuc.model.names import SYSTEM_TAINT

CONTROLLERS = {
    gatekeeper: (("controllerManager",), ("audit",), ("postInstall",)),
    gpu_operator: (("operator",), ("node-feature-discovery", "master"), ("node-feature-discovery", "gc")),
    kueue: (("controllerManager",),),
}
"""The blocks of the Helm values of each pod that runs on the system nodes."""


def test_c18_every_component_tolerates_the_taint_of_the_system_nodes(reference: Cluster) -> None:
    for emitter, blocks in CONTROLLERS.items():
        (values,) = (artifact for artifact in emitter(reference) if isinstance(artifact, Values))
        for path in blocks:
            block: Any = values.body
            for key in path:
                block = block[key]
            assert {"key": SYSTEM_TAINT, "operator": "Exists"} in block["tolerations"], path


def test_c18_no_tenant_tolerates_the_taint_of_the_system_nodes(reference: Cluster) -> None:
    assert all(taint.key != SYSTEM_TAINT for pool in reference.pools for taint in pool.taints)


def test_c18_a_quota_refuses_pods_with_the_priority_of_system_components(reference: Cluster) -> None:
    """A pod with system-node-critical preempts Kueue and the GPU pods of other tenants."""
    quotas = {
        manifest.namespace: manifest.body["spec"]
        for manifest in tenants(reference)
        if isinstance(manifest, Manifest) and manifest.name == "gpuc-system-priority"
    }
    assert set(quotas) == set(reference.tenant_namespaces)
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": list(SYSTEM_PRIORITY_CLASSES)}
    expected = {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [scope]}}
    assert all(spec == expected for spec in quotas.values())
