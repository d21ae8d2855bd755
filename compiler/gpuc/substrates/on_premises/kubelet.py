"""Settings of the kubelet and of containerd for existing nodes, in files that an engineer copies to the nodes.

`Allocatable` of a node is `Capacity` minus kubeReserved, systemReserved and the hard eviction threshold. `Capacity`
does not include the memory that the kernel keeps for itself. So `reserved.memory` of the spec is the sum of three
amounts: the memory of the kernel, the eviction threshold, and kubeReserved together with systemReserved.

Source: k8s.io/kubernetes v1.35.4 pkg/kubelet/cm/node_container_manager_linux.go (GetNodeAllocatableReservation)
"""

from collections.abc import Iterator
from pathlib import Path as File
from typing import NamedTuple

from gpuc.emit.template import render
from gpuc.kubernetes.amounts import CPU, GIB, MEMORY, MIB, quantity_text
from gpuc.manifest.manifest import Text
from gpuc.model import Cluster, Pool
from gpuc.model.names import POOL_LABEL
from gpuc.substrates.on_premises.section import SECTIONS, Existing, Reserved, existing, machines

EVICTION = GIB
"""The hard eviction threshold of memory."""
_PAGE_STRUCTS = 64
"""The kernel keeps 1/64 of the memory: a struct page of 64 bytes for each page of 4 KiB.

Source: torvalds/linux include/linux/mm_types.h (struct page)
"""
_NODEFS_PERCENT = 10
"""The hard eviction threshold of the disk. Only the one of nodefs reduces the allocatable resources.

The kubelet compares the threshold of imagefs with the same file system if images have none of their own. Its default,
15 %, would evict pods before they use what quotas promise. The kubelet deletes unused images from 85 % on.

Source: k8s.io/kubernetes v1.35.4 pkg/kubelet/eviction/helpers.go (makeSignalObservations), cm/helpers.go,
apis/config/v1beta1/defaults.go (ImageGCHighThresholdPercent)
"""
_HERE = File(__file__).parent


class Settings(NamedTuple):
    """The resources that the kubelet and the kernel keep from pods, on each node of a pool."""

    kernel: int
    """The memory that the kernel keeps for itself, in bytes. It is no part of the capacity."""
    cpu: str
    """kubeReserved and systemReserved together, in millicores."""
    memory: int
    """kubeReserved and systemReserved together, in bytes. Zero or less if the declared memory is not enough."""
    disk: int
    """The smallest size of the file system of /var/lib/kubelet, in bytes: its hard eviction threshold is a share."""

    @property
    def memory_text(self) -> str:
        return quantity_text(MEMORY, max(self.memory, 0))


def reserved_of(cloud: Existing, pool: Pool) -> Reserved:
    """Returns the CPU and memory that pods cannot use on each node: `reserved` of the pool, or else of the cluster."""
    return machines(pool.spec).reserved or cloud.reserved


def settings(cluster: Cluster, pool: Pool) -> Settings:
    """Returns settings for the nodes of a pool, so that a node's allocatable resources are those that gpuc computes."""
    cloud = existing(cluster.spec.cloud)
    reserved, kernel = reserved_of(cloud, pool), -(-pool.instances[0].memory_mib // _PAGE_STRUCTS) * MIB
    disk = -(-(machines(pool.spec).disk or cloud.disk) * 100 // (100 - _NODEFS_PERCENT))
    cpu = quantity_text(CPU, int(reserved.cpu.removesuffix("m")))
    return Settings(kernel, cpu, reserved.memory - kernel - EVICTION, -(-disk // GIB) * GIB)


def pins_cpus(pool: Pool) -> bool:
    """Returns whether the kubelet gives containers exclusive cores: for training pools with exclusive GPUs."""
    sharing = pool.spec.sharing
    return pool.spec.purpose == "training" and sharing is not None and bool(sharing.exclusive)


def node_files(cluster: Cluster) -> Iterator[Text]:
    """Yields the files for the nodes of each pool: a patch of the kubelet's settings, and a JoinConfiguration.

    With `memlock: unlimited`, containerd also gets a drop-in file for its systemd unit. kubeadm recognizes a patch by
    the name of its file: kubeletconfiguration+merge.yaml.

    Source: k8s.io/kubernetes v1.35.4 cmd/kubeadm/app/util/patches/patches.go
    """
    cloud = existing(cluster.spec.cloud)
    for pool in cluster.pools:
        values = {
            "pool": pool,
            "own": settings(cluster, pool),
            "pods": cloud.pods,
            "eviction": quantity_text(MEMORY, EVICTION),
            "nodefs": _NODEFS_PERCENT,
            "pins_cpus": pins_cpus(pool),
            "label": f"{POOL_LABEL}={pool.name}",
        }
        files = {"patches/kubeletconfiguration+merge.yaml": "kubelet.yaml.j2", "join.yaml": "join.yaml.j2"}
        if cloud.memlock == "unlimited":
            files["containerd.service.d/memlock.conf"] = "memlock.conf.j2"
        for file, template in files.items():
            text = render(_HERE, template, **values)
            yield Text(cluster.entry(f"nodes/{pool.name}/{file}"), (*pool.path, SECTIONS.pool_key), text)
