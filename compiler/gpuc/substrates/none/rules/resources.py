"""The resources, labels and taints of existing nodes."""

from __future__ import annotations

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.amounts import CPU, MEMORY, quantity_text
from gpuc.model import Cluster, Pool
from gpuc.rules import Findings, Found, pool_rule, rule
from gpuc.substrates.none.section import SECTIONS, machines


@pool_rule("NOD010")
def reservation_above_server(pool: Pool) -> Findings:
    """The reservations of a node leave no CPU or no memory for pods of tenants.

    Quotas of the pool would be negative. A reservation is in millicores or bytes, and node agents need a part too.
    """
    own = machines(pool.spec).reserved is not None
    section: Path = (*pool.path, SECTIONS.pool_key) if own else ("spec", "cloud", SECTIONS.name)
    instance = pool.instances[0]
    for key, name in (("cpu", CPU), ("memory", MEMORY)):
        allocatable = pool.allocatable(instance)[name]
        if (rest := pool.tenant_allocatable(instance)[name]) <= 0:
            agents = quantity_text(name, allocatable - rest)
            actual = f"reserved.{key} leaves {quantity_text(name, allocatable)} of server {instance.type}"
            message = f"{actual} in node pool {pool.name}; expected more than {agents}, the requests of node agents"
            yield Found((*section, "reserved", key), message)


@rule("NOD011")
def no_gpu_pool(cluster: Cluster) -> Findings:
    """A cluster of existing nodes has no pool with GPUs.

    Node feature discovery gives the nodes their labels and taints. It is a part of the GPU Operator, which gpuc
    installs only in clusters with GPUs.
    """
    if not cluster.gpu_pools:
        message = "no node pool has GPUs, so that without the GPU Operator no node gets the labels of its pool"
        yield Found(("spec", "pools"), f"{message}; expected at least one node pool with GPUs", on_key=True)


@pool_rule(
    "NOD012", source="kubernetes-sigs/node-feature-discovery v0.19.0 pkg/apis/nfd/validate/validate.go (Label, Taint)"
)
def key_without_own_domain(pool: Pool) -> Findings:
    """Node feature discovery does not set a node label or taint of a pool.

    It refuses keys without a domain and keys with the domain kubernetes.io or a domain below it, with a line in its log
    only. The nodes lack the label or the taint.
    """
    keys = [((*pool.path, "nodeLabels", key), f"node label {key}") for key in pool.spec.node_labels]
    keys += [((*pool.path, "taints", at, "key"), f"taint {taint.key}") for at, taint in enumerate(pool.spec.taints)]
    for path, words in keys:
        domain, slash, _ = words.rpartition(" ")[2].rpartition("/")
        if not slash or domain == "kubernetes.io" or domain.endswith(".kubernetes.io"):
            actual = f"{words} of node pool {pool.name} has {f'the domain {domain}' if slash else 'no domain'}"
            message = f"{actual}, which node feature discovery refuses; expected a key such as example.com/team"
            yield Found(path, message, on_key=path[-2] == "nodeLabels")
