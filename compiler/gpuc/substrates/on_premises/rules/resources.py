"""Rules about the resources, labels and taints of existing nodes."""

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.diagnostics.place import dotted
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, GIB, MEMORY, MIB, quantity_text
from gpuc.model import Cluster, GpuPool, Pool
from gpuc.objects.object_set import grouped
from gpuc.rules import Findings, Found, pool_rule, rule
from gpuc.substrates.on_premises.kubelet import reserved_of, settings
from gpuc.substrates.on_premises.section import SECTIONS, existing, machines

CLOUD: Path = ("spec", "cloud", SECTIONS.name)


@pool_rule("NOD010")
def no_room_for_pods(pool: Pool) -> Findings:
    """The nodes of a pool have too little cpu, memory or disk left for pods of tenants."""
    section, instance = machines(pool.spec), pool.instances[0]
    own: Path = (*pool.path, SECTIONS.pool_key)
    allocatable, rest = pool.allocatable(instance), pool.tenant_allocatable(instance)
    for name, reserved, place in (
        (CPU, section.reserved, ("reserved", "cpu")),
        (MEMORY, section.reserved, ("reserved", "memory")),
        (EPHEMERAL_STORAGE, section.disk, ("disk",)),
    ):
        if rest[name] < (1000 if name == CPU else GIB):
            left, agents = quantity_text(name, allocatable[name]), quantity_text(name, allocatable[name] - rest[name])
            actual = f"{dotted(place)} leaves {left} of {name} on a node of node pool {pool.name}"
            if allocatable[name] < 0:
                whole = quantity_text(name, {CPU: instance.vcpu * 1000, MEMORY: instance.memory_mib * MIB}[name])
                actual = f"{dotted(place)} is more than the {name} of server {instance.type}, which has {whole}"
                actual += f"; node pool {pool.name} has no {name} left"
            message = f"{actual}, and node agents request {agents}; expected {name} for pods of tenants"
            yield Found((*(CLOUD if reserved is None else own), *place), message)


@rule("NOD132", Severity.WARNING)
def reserved_without_kernel(cluster: Cluster) -> Findings:
    """The reserved memory of nodes is less than the memory that the kernel and the kubelet keep for themselves."""
    most: dict[Path, tuple[int, Pool]] = {}
    for pool in cluster.pools:
        place = (*pool.path, SECTIONS.pool_key) if machines(pool.spec).reserved else CLOUD
        needed = reserved_of(existing(cluster.spec.cloud), pool).memory - settings(cluster, pool).memory + GIB
        most[place] = max(most.get(place, (0, pool)), (needed, pool), key=lambda row: row[0])
    for place, (needed, pool) in most.items():
        reserved = reserved_of(existing(cluster.spec.cloud), pool).memory
        if reserved < needed:
            kernel, memory = (quantity_text(MEMORY, -(-size // GIB) * GIB) for size in (needed - 2 * GIB, needed))
            actual = f"reserved.memory is {quantity_text(MEMORY, reserved)} on the nodes of node pool {pool.name}"
            message = f"{actual}, but the kernel uses about {kernel}, and the kubelet keeps 1Gi free by evictions"
            fix = f"write memory: {memory}"
            yield Found(
                (*place, "reserved", "memory"), f"{message}; expected {memory} or more, with 1Gi for daemons", fix
            )


@rule("NOD011")
def no_gpu_pool(cluster: Cluster) -> Findings:
    """A cluster of existing nodes has no pool with GPUs."""
    if not cluster.gpu_pools:
        message = "no node pool has GPUs, so that without the GPU Operator no node gets the labels of its pool"
        yield Found(("spec", "pools"), f"{message}; expected at least one node pool with GPUs", on_key=True)


@rule("NOD012")
def pods_only_for_agents(cluster: Cluster) -> Findings:
    """A node can run at most as many pods as there are node agents, so it has no place for other pods."""
    agents = max((len(pool.daemonsets) for pool in cluster.pools), default=0)
    pods = existing(cluster.spec.cloud).pods
    if pods <= agents:
        message = f"pods is {pods}, but {agents} node agents run on each node; expected maxPods of the kubelet"
        yield Found((*CLOUD, "pods"), message)


@pool_rule("NOD013")
def key_without_own_domain(pool: Pool) -> Findings:
    """The key of a node label or taint of a pool has a domain that node feature discovery refuses, or no domain."""
    keys = [((*pool.path, "nodeLabels", key), f"node label {key}") for key in pool.spec.node_labels]
    keys += [((*pool.path, "taints", at, "key"), f"taint {taint.key}") for at, taint in enumerate(pool.spec.taints)]
    for path, words in keys:
        domain, slash, _ = words.rpartition(" ")[2].rpartition("/")
        if not slash or domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
            actual = f"{words} of node pool {pool.name} has {f'the domain {domain}' if slash else 'no domain'}"
            message = f"{actual}, which node feature discovery refuses; expected a key such as example.com/team"
            yield Found(path, message, on_key=path[-2] == "nodeLabels")


@rule("NOD104", Severity.WARNING)
def two_drivers(cluster: Cluster) -> Findings:
    """The GPU Operator installs a driver on servers whose operating system already has a driver."""
    pools = [pool for pool in cluster.gpu_pools if pool.instances[0].host_driver and pool.image.driver == "operator"]
    message = "as delivered contains the driver; expected host, or an operating system without a driver"
    yield from _other_driver(cluster, pools, message, "host")


@rule("NOD105", Severity.WARNING)
def no_driver(cluster: Cluster) -> Findings:
    """Nothing installs a driver on servers without one, because other servers of the cluster have one."""
    pools = [
        pool for pool in cluster.gpu_pools if not (pool.instances[0].host_driver or machines(pool.spec).gpu_driver)
    ]
    if any(pool.instances[0].host_driver for pool in cluster.gpu_pools):
        pools = [pool for pool in pools if pool.image.driver == "image"]
        message = "contains no driver that gpuc knows; expected operator, or host in machines if you install the driver"
        yield from _other_driver(cluster, pools, message, "operator")


def _other_driver(cluster: Cluster, pools: list[GpuPool], message: str, expected: str) -> Findings:
    """Yields a finding for each `gpuDriver` of some pools: for a pool without this key, the key of the cluster.

    If the key of the cluster is right for other pools, the finding is at the section of the pool, which lacks the key.
    """
    inherited = [pool for pool in cluster.gpu_pools if machines(pool.spec).gpu_driver is None]
    is_common = all(pool in pools for pool in inherited)

    def place(pool: GpuPool) -> Path:
        own: Path = (*pool.path, SECTIONS.pool_key)
        return CLOUD if is_common and pool in inherited else own

    for path, found in grouped(pools, place).items():
        servers = " and ".join(dict.fromkeys(pool.instances[0].type for pool in found))
        actual = f"gpuDriver is {'operator' if expected == 'host' else 'host'}, but the operating system of {servers}"
        related = [Related(f"the server of node pool {pool.name}", (*pool.path, "instances", 0)) for pool in found]
        has_key = path == CLOUD or found[0] not in inherited
        fix = f"write gpuDriver: {expected}" + ("" if has_key else f" in machines of node pool {found[0].name}")
        yield Found((*path, "gpuDriver") if has_key else path, f"{actual} {message}", fix, related, on_key=not has_key)
