"""The class EksScaling: how Karpenter starts, replaces and ends the nodes of a pool on EKS."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from msgspec import Struct

from gpuc.catalog.operations import Kubelet
from gpuc.catalog.records import Image, InstanceType, Purchase
from gpuc.cluster.node_allocatable import predicted_allocatable
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU, GIB, Amounts
from gpuc.kubernetes.node_pool import CAPACITY_TYPE, DO_NOT_DISRUPT, ZONE
from gpuc.model import Cluster, Pool
from gpuc.spec.pools import Pool as PoolSpec
from gpuc.substrates.eks.pool_section import CapacityBlock, EksPool
from gpuc.substrates.eks.section import Aws

JOIN_MINUTES = 4
"""The maximum time from the launch of a node until the node joins the cluster.

Nothing that user data does with GPUs is part of this time. Karpenter deletes a NodeClaim whose node has not joined
after 15 minutes.

Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/lifecycle/liveness.go (registrationTimeout)
"""
BLOCK_DRAIN_MINUTES = 40
"""The time before the end of a capacity block at which Karpenter drains its nodes, 10 minutes before EC2 ends them.

Source: aws/karpenter-provider-aws v1.14.1 website/content/en/docs/tasks/odcrs.md, capacity blocks
"""
SYSTEM_CPU_MILLI = 1000
"""CPU that training nodes reserve for the system, because pinned cores of pods need complete cores.

The EC2NodeClass contains the number, so that Karpenter and the quotas count the same cores. One core is an estimate.
"""
GP3_THROUGHPUT, GP3_IOPS, IOPS_PER_MIB = 125, 3000, 4
"""Defaults of EC2 for a gp3 volume, and the least I/O operations per second for each MiB/s of throughput.

Source: Amazon EBS User Guide, general purpose SSD volumes, gp3 volume performance
"""
SPOT_NOTICE_SECONDS = 120
"""The time from the interruption notice of EC2 to the end of a spot instance."""
KEEP_NODE = {DO_NOT_DISRUPT: "true"}
"""The annotation of pods with which Karpenter does not drain their node until the pods end."""
_HOUR_SECONDS = 3600


class EksScaling(Struct, frozen=True, kw_only=True):
    """The settings of the nodes of one pool on EKS: capacity, lifetime, image, network and volumes."""

    pool: PoolSpec
    name: str
    path: Path
    """The path of the section `eks` of the pool."""
    spec: EksPool
    instances: tuple[InstanceType, ...]
    image: Image
    ami: str
    """The image alias with its version, or the id of an AMI."""
    zones: tuple[str, ...]
    kubelet: Kubelet

    @property
    def warm_node_pool(self) -> str:
        """The name of the static NodePool object for `nodes.min`, whose nodes always run; empty without this field."""
        return f"{self.name}-warm" if self.pool.nodes.min else ""

    @property
    def node_pools(self) -> tuple[str, ...]:
        """The names of the NodePool objects of the pool. The first NodePool object has the name of the pool."""
        return tuple(filter(None, (self.name, self.warm_node_pool)))

    @property
    def static_node_pool(self) -> str:
        """The name of the NodePool object whose nodes always run; empty if the pool has no such NodePool."""
        return self.name if self.pool.nodes.static is not None else self.warm_node_pool

    @property
    def reserved_ids(self) -> list[str]:
        """The ids of the capacity reservations of the pool; empty without reservations."""
        return self.spec.reservations.ids if self.spec.reservations else []

    @property
    def reserved_instances(self) -> int | None:
        """The number of instances of all reservations of the pool; None if the spec does not declare the number."""
        return self.spec.reservations.instances if self.spec.reservations else None

    @property
    def block(self) -> CapacityBlock | None:
        """The capacity block for ML of the pool, with the time of its end; None for a pool without a capacity block."""
        return self.spec.reservations.block if self.spec.reservations else None

    @property
    def can_start_spare_node(self) -> bool:
        """Whether a static pool can start one more node than its static number of nodes.

        Karpenter starts the new node before it removes a drifted node. If the pool has only reserved capacity, the
        reservation therefore needs a free instance.
        """
        is_reserved_only = set(self.spec.purchase) == {"reserved"}
        most_nodes = self.pool.nodes.static or self.pool.nodes.max or 0
        return not is_reserved_only or (self.reserved_instances or 0) > most_nodes

    @property
    def keeps_runs(self) -> bool:
        """Whether Karpenter never drains a node of the pool while a training run is on the node.

        This is false for spot nodes. On a spot node, EC2 would end the instance before the pods have written a
        checkpoint, because Karpenter would not stop the pods after the interruption notice.

        Source: aws/karpenter-provider-aws v1.14.1 pkg/controllers/interruption/controller.go; kubernetes-sigs/karpenter
        v1.14.1 pkg/utils/pod/scheduling.go (IsEvictable)
        """
        return self.pool.runs is not None and "spot" not in self.spec.purchase

    @property
    def run_annotations(self) -> Mapping[str, str]:
        """The annotation with which pods of a training run keep Karpenter from draining their node; empty if it may."""
        return KEEP_NODE if self.keeps_runs else {}

    @property
    def notice_seconds(self) -> int | None:
        """The seconds between an interruption notice and the end of a spot instance; None without spot capacity."""
        return SPOT_NOTICE_SECONDS if "spot" in self.spec.purchase else None

    @property
    def grace_seconds(self) -> int | None:
        """Returns `terminationGracePeriod`, the time limit to drain a node; None for pools with runs.

        Without the limit, a draining node waits until all pods with the annotation karpenter.sh/do-not-disrupt have
        ended. With the limit, Karpenter also replaces drifted nodes with such pods: it starts a new node at once, and
        the new node is empty until the run on the old node has ended. Pools with runs therefore have no limit, and
        Karpenter replaces their drifted nodes between two runs.

        Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/disruption/types.go (NewCandidate), queue.go
        """
        return None if self.pool.runs else _HOUR_SECONDS

    @property
    def join_minutes(self) -> int:
        """The maximum minutes from the launch of a node until the node joins the cluster."""
        return JOIN_MINUTES

    @property
    def registered(self) -> tuple[str, str]:
        """The name of a container of the GPU gate (a DaemonSet on new GPU nodes), and the condition that it waits for.

        When Karpenter has registered the node, Karpenter writes all labels and startup taints of the NodePool again,
        and removes its own taint.

        Source: kubernetes-sigs/karpenter v1.14.1 pkg/controllers/nodeclaim/lifecycle/registration.go (syncNode)
        """
        return "wait-for-karpenter", r"jsonpath={.metadata.labels.karpenter\.sh/registered}=true"

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """The zones and the purchase options of the pool, each under the key of the node label that shows it."""
        return {ZONE: self.zones, CAPACITY_TYPE: tuple(self.spec.purchase)}

    def bought(self, nodes: int) -> Iterator[tuple[int, tuple[Purchase, ...]]]:
        """Yields pairs: a number of nodes, and the purchase options that they can have, as in (2, ("reserved",))."""
        rest = nodes
        if "reserved" in self.spec.purchase:
            reserved = min(nodes, self.reserved_instances or nodes)
            rest = nodes - reserved if len(self.spec.purchase) > 1 else 0
            yield nodes - rest, ("reserved",)
        if rest > 0:
            yield rest, tuple(purchase for purchase in self.spec.purchase if purchase != "reserved")

    def hold_at(self, boot_minutes: int) -> datetime | None:
        """Returns the last time to start a run that ends before the capacity block ends; None without a capacity block.

        boot_minutes: the minutes from the launch of a node to the start of its first pod.
        """
        if self.block is None:
            return None
        longest_seconds = self.pool.runs.longest if self.pool.runs else 0
        needed = timedelta(seconds=longest_seconds, minutes=BLOCK_DRAIN_MINUTES + boot_minutes)
        return datetime.fromisoformat(self.block.ends) - needed

    @property
    def pins_cpus(self) -> bool:
        """Whether the kubelet gives containers exclusive cores near GPUs: in training pools with exclusive GPUs."""
        return self.pool.purpose == "training" and self.pool.sharing is not None and bool(self.pool.sharing.exclusive)

    @property
    def uses_instance_store(self) -> bool:
        """Whether pods use local NVMe disks: all instance types have NVMe disks, and the image formats the disks."""
        return self.image.ami_family != "Custom" and all(instance.local_nvme_gb for instance in self.instances)

    @property
    def root_volume_bytes(self) -> int:
        return self.spec.root_volume or (200 if self.instances[0].gpu else 100) * GIB

    @property
    def root_volume_throughput(self) -> int:
        """Throughput of the root volume in MiB/s. At EC2's default of 125, an image of 30 GB needs four minutes."""
        holds_images = self.instances[0].gpu and not self.uses_instance_store
        return self.spec.root_volume_throughput or (1000 if holds_images else GP3_THROUGHPUT)

    @property
    def root_volume_iops(self) -> int:
        """I/O operations per second of the root volume.

        The default grows with the throughput: EC2 refuses more than 0.25 MiB/s for each I/O operation per second.
        """
        return self.spec.root_volume_iops or max(GP3_IOPS, IOPS_PER_MIB * self.root_volume_throughput)

    def allocatable(self, instance: InstanceType) -> Amounts:
        """Returns the allocatable cpu, memory and ephemeral storage of a node, as Karpenter computes them."""
        disk_bytes = instance.local_nvme_gb * 10**9 if self.uses_instance_store else self.root_volume_bytes
        reserved = {"systemReserved": {CPU: f"{SYSTEM_CPU_MILLI}m"}} if self.pins_cpus else None
        return predicted_allocatable(instance, self.kubelet, disk_bytes, reserved)


def eks(pool: Pool) -> EksScaling:
    """Returns the EksScaling of a pool. The cluster must be on EKS."""
    assert isinstance(pool.scaling, EksScaling), "the cluster is on EKS"
    return pool.scaling


def add_on_registry(cluster: Cluster) -> str:
    """Returns the registry with the images of EKS add-ons, from the spec or the catalog; empty if neither has one."""
    row = cluster.catalog.eks_registries.get(aws(cluster).region)
    return aws(cluster).add_on_registry or (row.host if row else "")


def aws(cluster: Cluster) -> Aws:
    """Returns the section `cloud.aws` of a cluster on EKS."""
    section = cluster.spec.cloud.section
    assert isinstance(section, Aws), "the cluster is on EKS"
    return section
