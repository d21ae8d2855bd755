"""Workload templates: objects that users copy to run workloads on a pool. This module has their common parts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from gpuc.emit.policy_facts import FACTS
from gpuc.emit.substrate import substrate_output
from gpuc.emit.template import render
from gpuc.kubernetes.amounts import GIB, MEMORY, MIB, Amounts, texts
from gpuc.kubernetes.kueue import PRIORITY_LABEL, QUEUE_LABEL
from gpuc.manifest.manifest import Body
from gpuc.model import Cluster, Namespace, Pool, Tenant
from gpuc.model.names import DOMAIN, GPU, PLACEHOLDER_REGISTRY, POOL_LABEL
from gpuc.model.tenant import Profile

USAGE = f"{DOMAIN}/usage"
"""Annotation with instructions for the use of a template."""
DEFAULT_USER = 1000


def claim_volume(claim: str) -> str:
    """Returns the name of the volume in a pod for a claim. No other volume of a template has such a name."""
    return f"claim-{claim}"


class Place(Struct, frozen=True):
    """A namespace for which gpuc writes a workload template, and the tenant of the namespace."""

    namespace: str = "default"
    team: str = "team"
    """The name of the tenant, which is a part of the image name."""
    tenant: Tenant | None = None
    """None in a cluster without tenants."""
    pod_security: str = "privileged"
    """The Pod Security level of the namespace. The namespace default has none, so that all pods are allowed."""
    nccl: Profile | None = None
    claims: Mapping[str, bool] = {}
    """The PersistentVolumeClaims that gpuc writes into the namespace, and whether pods can only read their volume."""

    @classmethod
    def of(cls, cluster: Cluster, tenant: Tenant, namespace: Namespace) -> "Place":
        """Returns the Place for a namespace of a tenant."""
        claims = substrate_output(cluster).claims(namespace)
        return cls(namespace.name, tenant.name, tenant, namespace.spec.pod_security, namespace.nccl, claims)


class Template(Struct, frozen=True):
    """A workload template for one pool: an object that users copy and change to run their workloads."""

    cluster: Cluster
    name: str
    pool: Pool
    place: Place
    resources: Amounts
    """Requests and limits of the container."""
    queue: str = ""
    """The name of the LocalQueue; empty if no queue counts the pool."""
    pods: int = 1

    @property
    def is_gang(self) -> bool:
        """Whether the pods are a gang, which communicates over EFA."""
        return self.pool.has_efa and GPU in self.resources

    @property
    def locks_memory(self) -> bool:
        """Whether the container gets IPC_LOCK for EFA. Only namespaces with level privileged allow this capability."""
        is_allowed = self.place.pod_security == "privileged"
        return self.is_gang and self.pool.needs_ipc_lock and is_allowed

    @property
    def runs_as_root(self) -> bool:
        """Whether the container runs as root. This is true for a gang: IPC_LOCK has no effect for other users, and
        images for training expect root.
        """
        return self.is_gang and self.place.pod_security != "restricted"

    @property
    def has_shm_volume(self) -> bool:
        """Whether the container mounts a volume at /dev/shm. This is false for a container with MPS.

        The device plugin mounts the shared memory of the MPS server at /dev/shm, and a volume of the pod would hide it.

        Source: NVIDIA/k8s-device-plugin v0.20.0 internal/plugin/mps.go
        """
        return self.pool.is_gpu and self.pool.mps_user is None

    @property
    def labels(self) -> dict[str, str]:
        """The labels that Kueue reads: the queue, and the middle priority of the tenant; empty without a queue."""
        if not self.queue:
            return {}
        known, tenant = self.cluster.spec.priorities, self.place.tenant
        allowed = self.cluster.priorities_of(tenant.name) if tenant else list(known)
        names = sorted(allowed, key=lambda name: (known[name].value, name))
        return {QUEUE_LABEL: self.queue, **({PRIORITY_LABEL: names[len(names) // 2]} if names else {})}

    @property
    def scheduling(self) -> Body:
        """The node selector and tolerations of a pod. With a queue, the tolerations are absent: Kueue adds them."""
        selector = {"nodeSelector": {POOL_LABEL: self.pool.name}}
        if not self.queue:
            taints, name = self.pool.taints, self.pool.priority_class if self.place.tenant else ""
            tolerations = {"tolerations": [taint.toleration() for taint in taints]} if taints else {}
            return {**selector, **tolerations, **({"priorityClassName": name} if name else {})}
        tenant = self.place.tenant
        choices = {choice["resource"] for choice in FACTS["tenant.choices"](self.cluster, tenant)} if tenant else set()
        # If several pools of the queue have the resource, Kueue uses the first pool with free quota without a selector.
        return selector if choices & self.resources.keys() else {}

    @property
    def pod_security(self) -> Body:
        """The security context of a pod that Pod Security level restricted allows."""
        user = DEFAULT_USER if self.pool.mps_user is None else self.pool.mps_user
        return {"runAsNonRoot": True, "runAsUser": user, "seccompProfile": {"type": "RuntimeDefault"}}

    def container(self, command: list[str], security: Body) -> Body:
        """Returns the container of the pods. Its requests and limits are the resources of the template."""
        registries = self.cluster.policy_settings("images").get("registries") or [PLACEHOLDER_REGISTRY]
        quantities = texts(self.resources)
        body: Body = {
            "name": "work",
            "image": f"{registries[0]}{self.place.team}/{self.pool.name}:replace-me",
            "command": command,
            "resources": {"requests": quantities, "limits": dict(quantities)},
            "securityContext": {"allowPrivilegeEscalation": False, **security},
        }
        mounts = {"shm": "/dev/shm"} if self.has_shm_volume else {}
        mounts |= {claim_volume(claim): f"/mnt/{claim}" for claim in self.place.claims}
        if mounts:
            body["volumeMounts"] = [{"name": name, "mountPath": path} for name, path in mounts.items()]
        return body

    @property
    def volumes(self) -> Body:
        """The volume with shared memory for data loaders and NCCL, which counts as memory of the container, and the
        claims of the namespace."""
        found: list[Body] = []
        if self.has_shm_volume:
            size = min(64 * GIB, self.resources[MEMORY] // 4 // MIB * MIB)
            shm = {"medium": "Memory", "sizeLimit": texts({MEMORY: size // GIB * GIB or size})[MEMORY]}
            found.append({"name": "shm", "emptyDir": shm})
        for claim, is_read_only in self.place.claims.items():
            source = {"claimName": claim, **({"readOnly": True} if is_read_only else {})}
            found.append({"name": claim_volume(claim), "persistentVolumeClaim": source})
        return {"volumes": found} if found else {}

    def usage(self, kind: Literal["gang", "job", "server", "train", "whole"], **values: int) -> str:
        """Returns instructions for users of the template. The text depends on the kind of the object."""
        return " ".join(render(Path(__file__).parent, "usage.j2", template=self, kind=kind, **values).split())
