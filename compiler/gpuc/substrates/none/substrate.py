"""Existing nodes as the place where a cluster lives."""

from __future__ import annotations

from functools import partial

from gpuc.catalog import Catalog
from gpuc.catalog.records import Image, InstanceType
from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, MIB, Amounts
from gpuc.model.substrate import Nodes, Substrate
from gpuc.spec.cluster import Spec
from gpuc.spec.pools import Pool as PoolSpec
from gpuc.substrates.none.section import SECTIONS, Existing, machines
from gpuc.substrates.none.servers import refused_type

HOST = Image(
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


def _nodes(spec: Spec, name: str, pool: PoolSpec, instances: tuple[InstanceType, ...], catalog: Catalog) -> Nodes:
    existing = spec.cloud.section
    assert isinstance(existing, Existing)
    return Nodes(
        image=HOST,
        own_user_data="",
        is_own_image=False,
        image_path=("spec", "cloud", SECTIONS.name),
        zones=(),
        allocatable_of=partial(_allocatable, existing, pool),
        scaling=None,
    )


def _allocatable(existing: Existing, pool: PoolSpec, instance: InstanceType) -> Amounts:
    """Returns cpu, memory and ephemeral storage for pods: the figures of the server minus the declared reservations."""
    section = machines(pool)
    reserved = section.reserved or existing.reserved
    return {
        CPU: instance.vcpu * 1000 - int(reserved.cpu.removesuffix("m")),
        MEMORY: instance.memory_mib * MIB - reserved.memory,
        EPHEMERAL_STORAGE: section.disk or existing.disk,
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
    policy_engines=("cilium", "none"),
    endpoint_ranges=lambda spec: (),
)
