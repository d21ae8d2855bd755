"""Layout gate: a DaemonSet that removes the startup taint of a node after the node has its MIG layout."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Pool
from gpuc.model.names import POOL_LABEL
from gpuc.model.pool import LAYOUT_GATE_CPU_MILLI, LAYOUT_GATE_MEMORY_MIB

NAMESPACE = "gpu-operator"
NAME = "gpuc-layout-gate"


def layout_gate(cluster: Cluster) -> Iterator[Manifest]:
    """Yields a DaemonSet for each pool whose MIG layout the GPU Operator applies, and a common service account.

    Without the layout gate, a pod could use a GPU before the GPU Operator partitions it. The partitioning would fail.
    """
    pools = [pool for pool in cluster.gpu_pools if pool.mig_by_operator]
    if not pools:
        return
    file = cluster.out("gpu-operator/config/layout-gate.yaml")
    origin = ("spec", "pools")
    role: Body = {"rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch", "watch"]}]}
    binding: Body = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": NAMESPACE}],
    }
    rbac = "rbac.authorization.k8s.io/v1"
    yield Manifest(file, origin, "v1", "ServiceAccount", NAME, {}, NAMESPACE, annotations=wave(0))
    yield Manifest(file, origin, rbac, "ClusterRole", NAME, role, annotations=wave(0))
    yield Manifest(file, origin, rbac, "ClusterRoleBinding", NAME, binding, annotations=wave(0))
    for pool in pools:
        yield _daemonset(cluster, pool)


def _daemonset(cluster: Cluster, pool: Pool) -> Manifest:
    labels = {"app.kubernetes.io/name": NAME, POOL_LABEL: pool.name}
    steps = [_step(cluster, name, arguments) for name, arguments in _steps(pool)]
    spec: Body = {
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {
                "serviceAccountName": NAME,
                "nodeSelector": {POOL_LABEL: pool.name},
                "priorityClassName": "system-node-critical",
                "tolerations": [{"operator": "Exists"}],
                "initContainers": steps,
                "containers": [_container("pause", f"registry.k8s.io/pause:{_PAUSE_VERSION}")],
            },
        },
    }
    file = cluster.out(f"gpu-operator/config/layout-gate-{pool.name}.yaml")
    name = f"{NAME}-{pool.name}"
    return Manifest(file, pool.path, "apps/v1", "DaemonSet", name, {"spec": spec}, NAMESPACE, annotations=wave(1))


_PAUSE_VERSION = "3.10"


def _steps(pool: Pool) -> Iterator[tuple[str, list[str]]]:
    """Yields the kubectl commands in order: set the taint, wait for MIG manager and resources, remove the taint.

    The first command sets the taint again after a restart of the pod, because kubectl fails to remove a missing taint.
    """
    (taint,) = pool.layout_taints
    node = "node/$(NODE_NAME)"
    taint_text = f"{taint.key}={taint.value}:{taint.effect}"
    yield "hold", ["taint", "node", "$(NODE_NAME)", taint_text, "--overwrite"]
    state = r"--for=jsonpath={.metadata.labels.nvidia\.com/mig\.config\.state}=success"
    yield "wait-for-layout", ["wait", node, state, f"--timeout={pool.boot_minutes}m"]
    for resource, count in pool.advertised(pool.instances[0]).items():
        if resource in pool.gpu_resource_names:
            path = resource.replace(".", r"\.")
            step = "wait-for-" + resource.split("/")[1].replace(".", "-")
            yield step, ["wait", node, f"--for=jsonpath={{.status.allocatable.{path}}}={count}", "--timeout=10m"]
    yield "release", ["taint", "node", "$(NODE_NAME)", f"{taint.key}:{taint.effect}-"]


def _step(cluster: Cluster, name: str, arguments: list[str]) -> Body:
    image = f"registry.k8s.io/kubectl:v{cluster.spec.kubernetes}.0"
    node_name = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}
    return _container(name, image) | {"args": arguments, "env": [node_name]}


def _container(name: str, image: str) -> Body:
    return {
        "name": name,
        "image": image,
        "resources": {"requests": {"cpu": f"{LAYOUT_GATE_CPU_MILLI}m", "memory": f"{LAYOUT_GATE_MEMORY_MIB}Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "runAsUser": 65534,
        },
    }
