"""Where a tenant's members work, and work as it should be: every policy and level of Pod Security lets it pass."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

from gpuc.model import Cluster, Namespace, Pool, Tenant
from gpuc.model.names import EFA, GPU, POOL_LABEL, QUEUE_LABEL, SHARED_GPU, TENANT_KEY
from gpuc.rehearse.client import Object

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


def network_policy(desk: Desk, peer: Object | None) -> Object:
    """One that lets a peer in; everybody where none is named."""
    rule: Object = {"from": [peer]} if peer else {}
    spec = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [rule]}
    metadata = desk.metadata("opens")
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}


def namespaces_labelled(label: str, value: str) -> Object:
    """The peer that is all namespaces with a label."""
    return {"namespaceSelector": {"matchLabels": {label: value}}}
