"""The class Substrate, which describes a place where a cluster lives (a cloud, a hall) to the model.

Each folder of gpuc.substrates has a module substrate.py with the variable SUBSTRATE. gpuc finds these modules by name.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct

from gpuc.catalog import Catalog
from gpuc.catalog.records import Image, InstanceType
from gpuc.diagnostics.finding import Finding, Path
from gpuc.kubernetes.amounts import Amounts
from gpuc.model.scaling import Scaling
from gpuc.spec.cluster import Spec
from gpuc.spec.pools import Pool as PoolSpec
from gpuc.spec.substrate import Sections, substrate_records


class Nodes(Struct, frozen=True, kw_only=True):
    """The properties of a pool's nodes that depend on the substrate, the place where a cluster lives."""

    image: Image
    """Who installs driver, container toolkit, device plugin and MIG layout."""
    own_user_data: str
    """The user data of the spec: a script, or settings of Bottlerocket. It may be empty."""
    is_own_image: bool
    """Whether the image is one of the user, whose driver version gpuc does not know."""
    image_path: Path
    """The path of the image in the spec."""
    zones: tuple[str, ...]
    allocatable_of: Callable[[InstanceType], Amounts]
    """Returns allocatable cpu, memory and ephemeral storage of a node of an instance type. Huge pages are in memory."""
    scaling: Scaling | None
    """How the substrate starts, replaces and ends the nodes; None for nodes that exist already."""
    existing: int | None = None
    """The number of nodes that exist and take pods; None for nodes that the substrate starts."""
    excluded: int = 0
    """The number of nodes that exist and take no pods for now."""
    spares: int = 0
    """How many of the existing nodes no quota promises."""
    names_path: Path = ()
    """The path of the names of existing nodes in the spec."""


class Substrate(Struct, frozen=True, kw_only=True):
    """The functions of a substrate that the model calls. A substrate is the place where a cluster lives."""

    sections: Sections
    """The sections of the spec."""
    nodes: Callable[[Spec, str, PoolSpec, tuple[InstanceType, ...], Catalog], Nodes]
    """Returns the nodes of a pool. Arguments: the spec, the name and spec of the pool, its types and the catalog."""
    region: Callable[[Spec], str]
    """Returns the region of prices and of node labels; empty without regions."""
    zones: Callable[[Spec], tuple[str, ...]]
    """Returns the zones of the cluster; empty without zones."""
    identity: Callable[[Spec], tuple[str, ...]]
    """Returns values that identify the cluster: they are equal in two revisions of a spec for the same cluster."""
    service_range: Callable[[Spec], str]
    """Returns the end of the sentence "set network.serviceCidr to ...": where an engineer finds the address range."""
    node_services: Mapping[str, str]
    """Addresses of services on each node to which pods may connect over HTTP, by name of the NetworkPolicy."""
    refused_type: Callable[[str, Path, Catalog], Finding | None]
    """Returns the finding about an instance type or server type without figures; None for a type with figures."""
    levels: tuple[str, ...]
    """The levels of a topology that nodes can have, from the widest to the narrowest."""
    policy_engines: tuple[str, ...]
    """The values of network.policyEngine that a cluster can have."""
    endpoint_ranges: Callable[[Spec], tuple[tuple[Path, list[str]], ...]]
    """Returns the address ranges of object store, image registry and token service that the section has, by path."""


def substrate_of(spec: Spec) -> Substrate:
    """Returns the description of the substrate that the spec chooses."""
    record: Substrate = substrate_records("substrate", "SUBSTRATE")[spec.cloud.substrate.name]
    return record
