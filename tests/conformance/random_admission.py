"""Random pods, and random namespaces with Pod Security labels, LimitRanges and ResourceQuotas."""

from random import Random
from typing import Any

from tests.tables import table

Object = dict[str, Any]

LEVELS = ("privileged", "baseline", "restricted")
VERSIONS = ("latest", "v1.35", "v1.34", "v1.30", "v1.24", "v1.18", "v1.0", "v1.99")
_GPU = "nvidia.com/gpu"
_VALUES: dict[str, Any] = table(__file__, "random_admission.yaml")
_POD_SECURITY = ("runAsNonRoot", "runAsUser", "seccompProfile", "appArmorProfile", "seLinuxOptions")
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
                else random.choice(_VALUES["quantities"][resource][: choices[field]])
                for resource in names
            }
        limits.append(limit)
    metadata = {"name": "limits", "namespace": namespace_name}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": limits}}


def resource_quota(random: Random, namespace_name: str, name: str) -> Object:
    """Returns a ResourceQuota with random keys and scopes, which the API server may refuse."""
    rows = _VALUES["quotas"]
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
        security["sysctls"] = [{"name": random.choice(_VALUES["sysctls"]), "value": "1"}]
    if security:
        spec["securityContext"] = security
    if random.random() < 0.3:
        spec["volumes"] = [{"name": "v", **random.choice(_VALUES["volumes"])}]
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
    for field, values in _VALUES["rare"].items():
        if random.random() < 0.05:
            spec[field] = random.choice(values)
    if random.random() < 0.05:
        term = {"topologyKey": "zone", "labelSelector": {}, **random.choice(({}, {"namespaces": ["b"]}))}
        spec["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _container(random: Random, name: str, is_careful: bool) -> Object:
    container: Object = {"name": name, "image": "registry.example.com/a:1"}
    security = _security(random, tuple(_VALUES["security"]), 0.05)
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
    return {
        field: random.choice(values)
        for field, values in _VALUES["security"].items()
        if field in fields and random.random() < share
    }


def _resources(random: Random) -> Object:
    requests, limits = {}, {}
    for resource, quantities in _VALUES["quantities"].items():
        if random.random() < (0.1 if resource in _EXACT else 0.4):
            low, high = sorted(random.choices(range(len(quantities)), k=2))
            if resource in _EXACT:
                low = high
            if random.random() < 0.7:
                requests[resource] = quantities[low]
            if resource in _EXACT or random.random() < 0.5:
                limits[resource] = quantities[high]
    return {side: values for side, values in (("requests", requests), ("limits", limits)) if values}
