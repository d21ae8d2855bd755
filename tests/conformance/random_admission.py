"""Random pods, and random namespaces with Pod Security labels, LimitRanges and ResourceQuotas."""

from __future__ import annotations

from random import Random
from typing import Any

Object = dict[str, Any]

LEVELS = ("privileged", "baseline", "restricted")
VERSIONS = ("latest", "v1.35", "v1.34", "v1.30", "v1.24", "v1.18", "v1.0", "v1.99")
_GPU = "nvidia.com/gpu"
_SECURITY: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("allowPrivilegeEscalation", (False, True)),
    ("privileged", (False, True)),
    ("runAsNonRoot", (True, True, False)),
    ("runAsUser", (1000, 0)),
    ("procMount", ("Default", "Unmasked")),
    ("capabilities", ({"drop": ["ALL"]}, {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}, {"add": ["CHOWN"]},
                      {"add": ["SYS_ADMIN"]}, {"drop": ["NET_RAW"]})),
    ("seccompProfile", ({"type": "RuntimeDefault"}, {"type": "Localhost", "localhostProfile": "a"},
                        {"type": "Unconfined"})),
    ("appArmorProfile", ({"type": "RuntimeDefault"}, {"type": "Unconfined"})),
    ("seLinuxOptions", ({"type": "container_t"}, {"type": "container_engine_t"}, {"type": "spc_t"}, {"user": "root"},
                        {"level": "s0"})),
)  # fmt: skip
_POD_SECURITY = ("runAsNonRoot", "runAsUser", "seccompProfile", "appArmorProfile", "seLinuxOptions")
_SYSCTLS = (
    "kernel.shm_rmid_forced", "net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_rmem",
    "kernel.msgmax",
)  # fmt: skip
_VOLUMES: tuple[Object, ...] = (
    {"emptyDir": {}}, {"configMap": {"name": "a"}}, {"secret": {"secretName": "a"}}, {"hostPath": {"path": "/a"}},
    {"nfs": {"server": "a", "path": "/a"}}, {}, {"persistentVolumeClaim": {"claimName": "a"}},
)  # fmt: skip
_QUANTITIES = {
    "cpu": ("100m", "0.5", "1", "2", "2500m", "0"),
    "memory": ("64Mi", "1Gi", "1500M", "4Gi", "0"),
    "ephemeral-storage": ("1Gi", "2Gi"),
    _GPU: ("1", "2"),
    "hugepages-2Mi": ("4Mi", "2Mi"),
}
_EXACT = (_GPU, "hugepages-2Mi")
"""Resources whose request has to be equal to the limit."""


def namespace(random: Random, name: str) -> Object:
    """Returns a namespace with random labels of Pod Security."""
    labels = {}
    for mode in ("enforce", "warn", "audit"):
        if random.random() < 0.6:
            labels[f"pod-security.kubernetes.io/{mode}"] = random.choice(LEVELS)
        if random.random() < 0.5:
            labels[f"pod-security.kubernetes.io/{mode}-version"] = random.choice(VERSIONS)
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def limit_range(random: Random, namespace_name: str) -> Object:
    """Returns a LimitRange with random bounds, which the API server may refuse."""
    limits: list[Object] = []
    for type_ in random.sample(("Container", "Pod", "Container"), random.randint(1, 2)):
        fields = ["min", "max", "maxLimitRequestRatio"]
        fields += ["default", "defaultRequest"] if type_ == "Container" else []
        limit: Object = {"type": type_}
        for field in random.sample(fields, random.randint(1, 2)):
            names = random.sample(("cpu", "memory"), random.randint(1, 2))
            choices = {"min": 2, "defaultRequest": 2, "default": 4, "max": 4}
            limit[field] = {
                resource: random.choice(("1", "2", "4"))
                if field == "maxLimitRequestRatio"
                else random.choice(_QUANTITIES[resource][: choices[field]])
                for resource in names
            }
        limits.append(limit)
    metadata = {"name": "limits", "namespace": namespace_name}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": limits}}


def resource_quota(random: Random, namespace_name: str, name: str) -> Object:
    """Returns a ResourceQuota with random keys and scopes, which the API server may refuse."""
    rows = {
        "pods": ("0", "1", "3", "10"), "count/pods": ("2", "10"), "count/jobs.batch": ("0",),
        "cpu": ("1", "3", "20"), "requests.cpu": ("2", "30"), "limits.cpu": ("2", "40"),
        "memory": ("1Gi", "20Gi"), "requests.memory": ("1Gi", "20Gi"), "limits.memory": ("2Gi", "40Gi"),
        "requests.ephemeral-storage": ("1Gi", "10Gi"), f"requests.{_GPU}": ("0", "1", "4", "20"),
        "requests.hugepages-2Mi": ("4Mi",), "hugepages-2Mi": ("4Mi", "1Gi"),
    }  # fmt: skip
    keys = random.sample(sorted(rows), random.randint(1, 3))
    spec: Object = {"hard": {key: random.choice(rows[key]) for key in keys}}
    scope = random.choice((None, None, None, "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "Priority",
                           "PriorityClass", "CrossNamespacePodAffinity"))  # fmt: skip
    if scope == "Priority":
        operator = random.choice(("In", "NotIn", "Exists", "DoesNotExist"))
        values = {"values": ["high"]} if operator in ("In", "NotIn") else {}
        expression = {"scopeName": "PriorityClass", "operator": operator, **values}
        spec["scopeSelector"] = {"matchExpressions": [expression]}
    elif scope is not None:
        spec["scopes"] = [scope]
    if scope == "BestEffort":
        spec["hard"] = {"pods": random.choice(("0", "1", "3"))}
    metadata = {"name": name, "namespace": namespace_name}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}


def pod(random: Random, namespace_name: str, name: str) -> Object:
    """Returns a random pod, often a correct one. The API server may refuse the pod as invalid."""
    is_careful = random.random() < 0.5
    containers = [_container(random, f"c{number}", is_careful) for number in range(random.randint(1, 2))]
    spec: Object = {"containers": containers}
    if random.random() < 0.3:
        spec["initContainers"] = [
            _container(random, f"i{number}", is_careful) for number in range(random.randint(1, 2))
        ]
        if random.random() < 0.5:
            spec["initContainers"][0]["restartPolicy"] = "Always"
    security = _security(random, _POD_SECURITY, 0.15)
    if is_careful:
        security |= {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    if random.random() < 0.1:
        security["sysctls"] = [{"name": random.choice(_SYSCTLS), "value": "1"}]
    if security:
        spec["securityContext"] = security
    if random.random() < 0.3:
        spec["volumes"] = [{"name": "v", **random.choice(_VOLUMES)}]
    _add_rare_fields(random, spec)
    metadata: Object = {"name": name, "namespace": namespace_name}
    if random.random() < 0.05:
        annotations = (
            "container.apparmor.security.beta.kubernetes.io/c0",
            "container.seccomp.security.alpha.kubernetes.io/c0",
        )
        metadata["annotations"] = {random.choice(annotations): random.choice(("runtime/default", "unconfined"))}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _add_rare_fields(random: Random, spec: Object) -> None:
    rare: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("hostNetwork", (True, False)),
        ("hostPID", (True,)),
        ("hostIPC", (True,)),
        ("hostUsers", (False, True)),
        ("activeDeadlineSeconds", (60,)),
        ("priorityClassName", ("high", "low", "none", "system-node-critical")),
        ("priority", (0, 1000)),
        ("preemptionPolicy", ("Never", "PreemptLowerPriority")),
        ("runtimeClassName", ("heavy", "none")),
        ("overhead", ({"cpu": "250m"},)),
        ("serviceAccountName", ("quiet", "none")),
        ("nodeSelector", ({"tier": "a"}, {"tier": "b"})),
        ("schedulingGates", ([{"name": "example.com/gate"}],)),
        ("tolerations", ([{"key": _GPU, "operator": "Exists", "effect": "NoSchedule"}], [{"operator": "Exists"}])),
        ("os", ({"name": "linux"}, {"name": "windows"})),
        ("resources", ({"requests": {"cpu": "1"}}, {"limits": {"cpu": "4", "memory": "8Gi"}}, {})),
    )
    for field, values in rare:
        if random.random() < 0.05:
            spec[field] = random.choice(values)
    if random.random() < 0.05:
        term = {"topologyKey": "zone", "labelSelector": {}, **random.choice(({}, {"namespaces": ["b"]}))}
        spec["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _container(random: Random, name: str, is_careful: bool) -> Object:
    container: Object = {"name": name, "image": "registry.example.com/a:1"}
    security = _security(random, tuple(field for field, _ in _SECURITY), 0.05)
    if is_careful:
        security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, **security}
    if security:
        container["securityContext"] = security
    resources = _resources(random)
    if resources:
        container["resources"] = resources
    if random.random() < 0.05:
        container["ports"] = [{"containerPort": 80, "hostPort": random.choice((0, 80))}]
    if random.random() < 0.05 and not name.startswith("i"):
        container["livenessProbe"] = {"httpGet": {"port": 80, "host": random.choice(("10.0.0.1", ""))}}
    return container


def _security(random: Random, fields: tuple[str, ...], share: float) -> Object:
    return {field: random.choice(values) for field, values in _SECURITY if field in fields and random.random() < share}


def _resources(random: Random) -> Object:
    requests, limits = {}, {}
    for resource, quantities in _QUANTITIES.items():
        if random.random() < (0.1 if resource in _EXACT else 0.4):
            low, high = sorted(random.choices(range(len(quantities)), k=2))
            if resource in _EXACT:
                low = high
            if random.random() < 0.7:
                requests[resource] = quantities[low]
            if resource in _EXACT or random.random() < 0.5:
                limits[resource] = quantities[high]
    return {side: values for side, values in (("requests", requests), ("limits", limits)) if values}
