"""Existing nodes as a substrate, the place where a cluster lives: server types, resources and MIG layouts."""

from functools import partial

from msgspec.structs import replace

from gpuc.catalog import Catalog
from gpuc.catalog.records import Image, InstanceType
from gpuc.diagnostics.finding import Finding, Path, rule_table
from gpuc.diagnostics.spelling import misspelt, write
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts
from gpuc.model.cluster import SPEC
from gpuc.model.substrate import Nodes, Substrate
from gpuc.spec.cluster import Spec
from gpuc.spec.pools import Pool as PoolSpec
from gpuc.substrates.on_premises.section import SECTIONS, Existing, existing, machines

rule_of = rule_table(__file__)
UNKNOWN_SERVER = rule_of("NOD014")


def refused_type(name: str, path: Path, catalog: Catalog) -> Finding | None:
    """Returns the finding about an instance type that is no server of the catalog; None for a server of the catalog."""
    servers = sorted(other for other in {**catalog.servers, **catalog.instances} if "." not in other)
    if name in servers:
        return None
    actual = f"{name} is not a server" if "." in name else f"gpuc does not know server {name}"
    add = "to add a server, write a row under instanceTypes in a file of specs/catalog/"
    message = f"{actual}; expected one of {', '.join(servers)}; {add}"
    return UNKNOWN_SERVER.at(path, message, fix=write(misspelt(name, servers)))


_BARE = Image(
    id="host",
    ami_family="",
    alias_pattern="",
    driver="operator",
    toolkit="operator",
    device_plugin="operator",
    mig="operator",
    root_volume_min_gib=0,
    source=("spec",),
)
"""The operating system of a machine without NVIDIA software: the GPU Operator installs all of it."""
# The toolkit of the operator also runs beside a driver of the host. It has the settings that isolate GPUs.
IMAGES = {"operator": _BARE, "host": replace(_BARE, driver="image")}
"""Who installs the NVIDIA software, by `gpuDriver`."""


def _nodes(spec: Spec, name: str, pool: PoolSpec, instances: tuple[InstanceType, ...], catalog: Catalog) -> Nodes:
    section = machines(pool)
    return Nodes(
        image=IMAGES[section.gpu_driver or existing(spec.cloud).gpu_driver],
        own_user_data="",
        is_own_image=False,
        image_path=("spec", "cloud", SECTIONS.name),
        zones=(),
        allocatable_of=partial(_allocatable, existing(spec.cloud), pool),
        scaling=None,
        existing=len(section.working),
        excluded=len(section.nodes) - len(section.working),
        spares=section.spare_count,
        names_path=(*SPEC, "pools", name, SECTIONS.pool_key, "names"),
    )


def _allocatable(cloud: Existing, pool: PoolSpec, instance: InstanceType) -> Amounts:
    """Returns cpu, memory and ephemeral storage for pods: the figures of the server minus the declared reservations."""
    section = machines(pool)
    reserved = section.reserved or cloud.reserved
    return {
        CPU: instance.vcpu * 1000 - int(reserved.cpu.removesuffix("m")),
        MEMORY: instance.memory_mib * MIB - reserved.memory,
        EPHEMERAL_STORAGE: section.disk or cloud.disk,
    }


SUBSTRATE = Substrate(
    sections=SECTIONS,
    nodes=_nodes,
    region=lambda spec: "",
    zones=lambda spec: (),
    identity=lambda spec: (),
    service_range=lambda spec: "the value of --service-cluster-ip-range of the API server",
    node_services={},
    refused_type=refused_type,
    levels=("rack", "host"),
    policy_engines=("cilium", "none"),
    endpoint_ranges=lambda spec: (),
)
