"""Where a tenant's members work, and work as it should be: every policy and every level of Pod Security lets it pass."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

from compiler.model import Cluster, Namespace, Pool, Tenant
from compiler.model.names import (
    EFA,
    GPU,
    POOL_LABEL,
    QUEUE_LABEL,
    SHARED_GPU,
    TENANT_KEY,
)
from compiler.rehearse.client import Object

_SECURITY = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


@dataclass(frozen=True)
class Attempt:
    """One object that is tried in a tenant's namespace."""

    policy: str
    """The only policy that it breaks; empty where it breaks none."""
    name: str
    document: Object
    breaks_baseline: bool = False
    """Whether Pod Security's level baseline forbids it too."""
    asks: dict[str, int] = field(default_factory=dict)
    """Devices that it asks for."""
    pool: str = ""


@dataclass(frozen=True)
class Desk:
    """Where somebody works: a namespace of a tenant, and what is allowed there."""

    cluster: Cluster
    tenant: Tenant
    namespace: Namespace

    @property
    def gpu_pools(self) -> tuple[Pool, ...]:
        return tuple(pool for pool in self.tenant.pools if pool.is_gpu)

    @property
    def queues(self) -> dict[str, bool]:
        """Whether each LocalQueue has GPUs."""
        return {
            part.name: any(pool.is_gpu for pool in part.pools)
            for queue in self.tenant.queues
            for part in queue.cluster_queues
        }

    @property
    def registry(self) -> str:
        """A prefix of images that the policy on images allows."""
        registries = self.cluster.policy_settings("images").get("registries", ["registry.example.com/"])
        return str(registries[0])

    def pod(self, name: str, pool: Pool | None = None, devices: dict[str, int] | None = None) -> Object:
        """A pod that satisfies every policy and every level of Pod Security; on the pool that is named."""
        asks = {key: str(amount) for key, amount in (devices or {}).items()}
        resources = {"requests": {"cpu": "10m", "memory": "16Mi", **asks}, "limits": asks}
        main: Object = {
            "name": "main",
            "image": f"{self.registry}rehearsal:1",
            "resources": resources,
            "securityContext": deepcopy(_SECURITY),
        }
        if EFA in asks and self.namespace.nccl:
            main["envFrom"] = [{"configMapRef": {"name": self.namespace.nccl.config_map}}]
        spec: Object = {
            "restartPolicy": "Never",
            "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [main],
        }
        if pool is not None:
            spec["nodeSelector"] = {POOL_LABEL: pool.name}
            spec["tolerations"] = [taint.toleration() for taint in pool.taints]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": self.metadata(name), "spec": spec}

    def job(self, pod: Object, queue: str) -> Object:
        """A Job of one such pod; without a queue where none is named."""
        metadata = self.metadata(pod["metadata"]["name"])
        if queue:
            metadata["labels"] = {QUEUE_LABEL: queue}
        spec = {"suspend": True, "backoffLimit": 0, "template": {"spec": pod["spec"]}}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}

    def metadata(self, name: str) -> Object:
        """Of an object of the namespace."""
        return {"name": f"rehearsal-{name}", "namespace": self.namespace.name}

    def any_pod(self, name: str) -> Object:
        """A pod with one GPU of the first pool, or without where the tenant has none."""
        for pool in self.gpu_pools:
            return self.pod(name, pool, {pool.gpu_resource_names[0]: 1})
        return self.pod(name)


def most(pool: Pool, resource: str) -> int:
    """The most pieces that one pod can have on a node: a second share of a GPU is no more compute."""
    return 1 if resource == SHARED_GPU else max(pool.advertised(each)[resource] for each in pool.instances)


def permitted(desk: Desk) -> Iterator[Attempt]:
    """Work as it should be: nobody objects."""
    yield Attempt("", "pod without a GPU", desk.pod("plain"))
    for pool in desk.gpu_pools:
        for resource in pool.gpu_resource_names:
            for amount in sorted({1, most(pool, resource)}):
                asks = {resource: amount}
                name = f"{amount} {resource} of {pool.name}"
                yield Attempt("", name, desk.pod("gpu", pool, asks), asks=asks, pool=pool.name)
        if pool.has_efa:
            asks = {GPU: most(pool, GPU), EFA: most(pool, EFA)}
            yield Attempt(
                "", f"a node of {pool.name} with its fabric", desk.pod("efa", pool, asks), False, asks, pool.name
            )
    if desk.gpu_pools:
        pod = desk.any_pod("silent")
        del pod["spec"]["containers"][0]["resources"]["requests"]
        yield Attempt("", "GPU without cpu and memory, which the LimitRange adds", pod)
    for queue, has_gpus in desk.queues.items():
        pod = desk.any_pod("queued") if has_gpus else desk.pod("queued")
        yield Attempt("", f"Job in queue {queue}", desk.job(pod, queue))
    yield Attempt(
        "", "NetworkPolicy for its own", network_policy(desk, namespaces_labelled(TENANT_KEY, desk.tenant.name))
    )


def _network_policy_fence(desk: Desk) -> Iterator[Attempt]:
    yield Attempt("network-policy-fence", "ingress from everybody", _network_policy(desk, None))
    other = next((each.name for each in desk.cluster.tenants if each is not desk.tenant), "another")
    document = _network_policy(desk, _namespaces(TENANT_KEY, other))
    yield Attempt("network-policy-fence", f"ingress from tenant {other}", document)
    document = _network_policy(desk, {"ipBlock": {"cidr": "0.0.0.0/0"}})
    rule = document["spec"].pop("ingress")[0]
    document["spec"] |= {"policyTypes": ["Egress"], "egress": [{"to": rule["from"]}]}
    yield Attempt("network-policy-fence", "egress to every address", document)


def _pool_selector(desk: Desk) -> Iterator[Attempt]:
    parts = [part for queue in desk.tenant.queues for part in queue.cluster_queues]
    offers = [name for part in parts for pool in part.pools for name in dict.fromkeys(pool.gpu_resource_names)]
    shared = {
        name
        for name in offers
        if any(sum(name in pool.gpu_resource_names for pool in part.pools) > 1 for part in parts)
    }
    for resource in sorted(shared):
        asks = {resource: 1}
        yield Attempt("pool-selector", f"{resource} without a pool", desk.pod("open", None, asks), asks=asks)
    for pool in desk.cluster.pools:
        if pool not in desk.tenant.pools:
            pod = desk.pod("foreign")
            pod["spec"]["nodeSelector"] = {POOL_LABEL: pool.name}
            yield Attempt("pool-selector", f"pool {pool.name} of others", pod, pool=pool.name)


def _queue_required(desk: Desk) -> Iterator[Attempt]:
    yield Attempt("queue-required", "Job without a queue", desk.job(desk.any_pod("unqueued"), ""))
    for other in desk.cluster.tenants:
        foreign = [name for name in other.local_queues if name not in desk.tenant.local_queues]
        for queue in foreign[:1]:
            document = desk.job(desk.any_pod("stray"), queue)
            yield Attempt("queue-required", f"Job in queue {queue} of tenant {other.name}", document)


def _toleration_fence(desk: Desk) -> Iterator[Attempt]:
    other = next((each.name for each in desk.cluster.tenants if each is not desk.tenant), "another")
    for name, toleration in (
        ("every mode tolerated", {"key": MODE_KEY, "operator": "Exists"}),
        (f"nodes of tenant {other} tolerated", {"key": TENANT_KEY, "operator": "Equal", "value": other}),
    ):
        pod = desk.any_pod("tolerates")
        pod["spec"]["tolerations"] = [*pod["spec"].get("tolerations", []), toleration]
        yield Attempt("toleration-fence", name, pod)
    pod = desk.any_pod("placed")
    pod["spec"]["nodeName"] = "ip-10-0-0-1.ec2.internal"
    yield Attempt("toleration-fence", "node by its name", pod)


def _visible_devices(desk: Desk) -> Iterator[Attempt]:
    pod = desk.any_pod("sees")
    pod["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]
    yield Attempt("visible-devices", "GPUs by environment", pod)
    pod = desk.any_pod("runtime")
    pod["spec"]["runtimeClassName"] = "nvidia"
    yield Attempt("visible-devices", "runtime class", pod)
    pod = desk.any_pod("cdi")
    pod["metadata"]["annotations"] = {"cdi.k8s.io/gpu": "nvidia.com/gpu=all"}
    yield Attempt("visible-devices", "GPUs by annotation", pod)
    data = {"NVIDIA_VISIBLE_DEVICES": "all"}
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": desk.metadata("devices"), "data": data}
    yield Attempt("visible-devices", "GPUs by ConfigMap", settings)


def _cost_label(desk: Desk) -> Iterator[Attempt]:
    pod = desk.any_pod("billed")
    pod["metadata"]["labels"] = {COST_LABEL: "of-somebody-else"}
    yield Attempt("cost-label", "another cost centre", pod)


def network_policy(desk: Desk, peer: Object | None) -> Object:
    """One that lets a peer in; everybody where none is named."""
    rule: Object = {"from": [peer]} if peer else {}
    spec = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [rule]}
    metadata = desk.metadata("opens")
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}


def namespaces_labelled(label: str, value: str) -> Object:
    """The peer that is all namespaces with a label."""
    return {"namespaceSelector": {"matchLabels": {label: value}}}
