"""The GPU gate: DaemonSets that remove the startup taint of a GPU node when the node advertises all its GPUs.

The GPU gate has a ServiceAccount, because a kubelet may not remove taints from its Node. The containers are init
containers: each runs one command of kubectl, and starts when the command of the previous container has succeeded. A
ValidatingAdmissionPolicy restricts the ServiceAccount to the Node of the pod, because RBAC cannot.

Source: k8s.io/kubernetes v1.35.4 plugin/pkg/admission/noderestriction/admission.go (admitNode),
pkg/serviceaccount/claims.go and staging/src/k8s.io/apiserver/pkg/authentication/serviceaccount/util.go (NodeNameKey)
"""

from collections.abc import Iterator

from gpuc.catalog.records import InstanceType
from gpuc.emit.sync import wave
from gpuc.kubernetes.api_groups import ADMISSION_API, RBAC, RBAC_API
from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster, Pool
from gpuc.model.names import EFA, GPUS_CONDITION, POOL_LABEL
from gpuc.model.pool import GPU_GATE_CPU_MILLI, GPU_GATE_MEMORY_MIB
from gpuc.objects.object_set import by_first

NAME = "gpuc-gpu-gate"
REPORT = "/run/gpuc/node-status.json"
"""File that user data writes: a patch of the status of the Node, with the condition `GPUS_CONDITION`."""
NODE_NAME_KEY = "authentication.kubernetes.io/node-name"
"""Extra information about a user: the node of the pod that got the token. Kubernetes 1.32 or later."""
_NODE = "node/$(NODE_NAME)"
_PAUSE_VERSION = "3.10"


def gate_user(cluster: Cluster) -> str:
    """Returns the user name of the ServiceAccount that the DaemonSets use."""
    return f"system:serviceaccount:{_namespace(cluster)}:{NAME}"


def _namespace(cluster: Cluster) -> str:
    return cluster.components["gpu-operator"].namespace


def gpu_gate(cluster: Cluster) -> Iterator[Manifest]:
    """Yields the ServiceAccount, and a DaemonSet for each GPU pool and for each set of resources in a pool."""
    pools = [pool for pool in cluster.gpu_pools if pool.has_gate]
    if not pools:
        return
    yield from _permissions(cluster)
    for pool in pools:
        groups = by_first((tuple(_promised(pool, instance).items()), instance) for instance in pool.instances)
        for instances in groups.values():
            suffix = pool.name if len(groups) == 1 else f"{pool.name}-{instances[0].type.replace('.', '-')}"
            yield _daemonset(cluster, pool, instances, suffix)


def _permissions(cluster: Cluster) -> Iterator[Manifest]:
    file = cluster.out("gpu-operator/config/gpu-gate.yaml")
    role: Body = {
        "rules": [
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch", "watch"]},
            {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["get", "patch"]},
        ]
    }
    binding: Body = {
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": NAME},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": _namespace(cluster)}],
    }

    def manifest(api: str, kind: str, body: Body, namespace: str = "") -> Manifest:
        return Manifest(file, ("spec", "pools"), api, kind, NAME, body, namespace, annotations=wave(0))

    yield manifest("v1", "ServiceAccount", {}, _namespace(cluster))
    yield manifest(RBAC_API, "ClusterRole", role)
    yield manifest(RBAC_API, "ClusterRoleBinding", binding)
    yield manifest(ADMISSION_API, "ValidatingAdmissionPolicy", {"spec": _own_node_only(gate_user(cluster))})
    policy_binding: Body = {"spec": {"policyName": NAME, "validationActions": ["Deny"]}}
    yield manifest(ADMISSION_API, "ValidatingAdmissionPolicyBinding", policy_binding)


def _own_node_only(user: str) -> Body:
    """Returns the spec of a policy that refuses changes of other Nodes than the Node of the gate's pod.

    Args:
        user: the user name of the gate's ServiceAccount.
    """
    extra = f"request.userInfo.extra['{NODE_NAME_KEY}']"
    has_extra = f"has(request.userInfo.extra) && '{NODE_NAME_KEY}' in request.userInfo.extra"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["nodes", "nodes/status"]}
    return {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "gpu-gate", "expression": f"request.userInfo.username == '{user}'"}],
        "validations": [
            {
                "expression": f"{has_extra} && object.metadata.name in {extra}",
                "message": "The GPU gate changes only the Node on which it runs.",
            }
        ],
    }


def _promised(pool: Pool, instance: InstanceType) -> dict[str, int]:
    """Returns the devices for which the gate waits. Huge pages are not devices: no agent has to advertise them."""
    names = (*pool.gpu_resource_names, EFA)
    return {name: count for name, count in pool.advertised(instance).items() if name in names}


def _daemonset(cluster: Cluster, pool: Pool, instances: list[InstanceType], suffix: str) -> Manifest:
    name = f"{NAME}-{suffix}"
    labels = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/instance": suffix}
    pod: Body = {
        "serviceAccountName": NAME,
        "nodeSelector": {POOL_LABEL: pool.name},
        "priorityClassName": "system-node-critical",
        "tolerations": [{"operator": "Exists"}],
        "initContainers": [_step(cluster, step, arguments) for step, arguments in _steps(pool, instances[0])],
        "containers": [_container("pause", f"registry.k8s.io/pause:{_PAUSE_VERSION}")],
    }
    if len(instances) < len(pool.instances):
        types = [instance.type for instance in instances]
        selector = {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": types}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [selector]}]}
        pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    if pool.reports_gpus:
        # The kubelet does not start the pod before the file exists.
        pod["volumes"] = [{"name": "report", "hostPath": {"path": REPORT, "type": "File"}}]
        (report,) = (step for step in pod["initContainers"] if step["name"] == "report")
        report["volumeMounts"] = [{"name": "report", "mountPath": REPORT, "readOnly": True}]
    spec: Body = {
        "selector": {"matchLabels": labels},
        # A rolling update would set the taint again on nodes with running work. For a DaemonSet with OnDelete, Argo CD
        # does not wait for the pods: a node that boots, or that cannot become ready, would block later commits.
        "updateStrategy": {"type": "OnDelete"},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    file = cluster.out(f"gpu-operator/config/gpu-gate-{pool.name}.yaml")
    body, namespace = {"spec": spec}, _namespace(cluster)
    return Manifest(file, pool.path, "apps/v1", "DaemonSet", name, body, namespace, annotations=wave(1))


def _steps(pool: Pool, instance: InstanceType) -> Iterator[tuple[str, list[str]]]:
    """Yields the kubectl commands in order: set the taint, wait for the GPUs and the resources, remove the taint.

    The first command waits until the substrate has written all labels and taints of the node, because kubectl replaces
    the complete list of taints. The second command sets the taint again after a reboot of the node, because kubectl
    fails to remove a missing taint.

    Source: k8s.io/kubectl v0.35.4 pkg/cmd/taint/taint.go
    """
    (taint,) = pool.gpu_taints
    timeout = f"--timeout={pool.boot_minutes}m"
    assert pool.scaling is not None, "only new nodes have a gate"
    step, condition = pool.scaling.registered
    yield step, ["wait", _NODE, f"--for={condition}", timeout]
    yield "hold", ["taint", "node", "$(NODE_NAME)", f"{taint.key}={taint.value}:{taint.effect}", "--overwrite"]
    if pool.reports_gpus:
        yield "report", ["patch", _NODE, "--subresource=status", f"--patch-file={REPORT}"]
        yield "wait-for-gpus", ["wait", _NODE, f"--for=condition={GPUS_CONDITION}", timeout]
    for label in pool.startup_labels:
        yield "start-operands", ["label", _NODE, f"{label}-"]
    if pool.mig_by_operator:
        state = r"--for=jsonpath={.metadata.labels.nvidia\.com/mig\.config\.state}=success"
        yield "wait-for-layout", ["wait", _NODE, state, timeout]
    for resource, count in _promised(pool, instance).items():
        path = resource.replace(".", r"\.")
        step = "wait-for-" + resource.split("/")[1].replace(".", "-")
        yield step, ["wait", _NODE, f"--for=jsonpath={{.status.allocatable.{path}}}={count}", timeout]
    yield "release", ["taint", "node", "$(NODE_NAME)", f"{taint.key}:{taint.effect}-"]


def _step(cluster: Cluster, name: str, arguments: list[str]) -> Body:
    image = f"registry.k8s.io/kubectl:v{cluster.spec.kubernetes}.0"
    node_name = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}}
    return _container(name, image) | {"args": arguments, "env": [node_name]}


def _container(name: str, image: str) -> Body:
    return {
        "name": name,
        "image": image,
        "resources": {"requests": {"cpu": f"{GPU_GATE_CPU_MILLI}m", "memory": f"{GPU_GATE_MEMORY_MIB}Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "runAsUser": 65534,
        },
    }
