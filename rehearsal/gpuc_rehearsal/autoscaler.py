"""How a rehearsal gets the nodes of a substrate. A substrate is a place where a cluster lives.

Either an autoscaler starts simulated nodes, or all nodes exist from the start. The module of a substrate in
gpuc_rehearsal.substrates has the constant AUTOSCALER or NODES for the two cases.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from gpuc.manifest.manifest import Body, Manifest
from gpuc.model import Cluster
from gpuc.pipeline.stages import CompiledSpec
from gpuc.spec.substrate import Sections, substrates
from gpuc.trace.steps import Component
from gpuc_rehearsal.client import Client, Object
from gpuc_rehearsal.parts import substrate_module
from gpuc_rehearsal.process import Process

if TYPE_CHECKING:
    from gpuc_rehearsal.plane.site import Settings, Site
    from gpuc_rehearsal.transition.result import NodeOutcome
    from gpuc_rehearsal.transition.snapshot import Snapshot


class Drift(Struct, frozen=True, kw_only=True):
    """An autoscaler's functions that observe, from objects, which nodes the autoscaler replaces after a change."""

    drifted: "Callable[[Snapshot], set[str]]"
    """Returns the names of the claims whose nodes the autoscaler wants to replace."""
    is_stale: "Callable[[Client, Snapshot], bool]"
    """Returns whether the autoscaler has not yet compared each claim with its pool."""
    await_decisions: "Callable[[Client, Snapshot], bool]"
    """Waits until the autoscaler replaces a drifted node of each pool, or reports what prevents the replacement.

    The snapshot is from before the change. Returns whether the autoscaler has decided.
    """
    outcomes: "Callable[[Snapshot, Mapping[str, Object], Snapshot, Collection[str]], Iterator[NodeOutcome]]"
    """Yields the outcome of each node. Arguments: those of `transition.outcomes.node_outcomes`."""
    notes: Callable[[Sequence[Manifest]], Iterator[str]]
    """Yields sentences about what a transition does not show, from the objects that the change writes or removes."""


class Autoscaler(Struct, frozen=True, kw_only=True):
    """How a rehearsal runs the autoscaler of a substrate, with a simulated cloud provider."""

    name: Component
    """The name in outcomes and reports."""
    component: str
    """The component whose chart installs the program."""
    program: str
    """The program that `gpuc tools` builds."""
    pool: tuple[str, str]
    """apiVersion and kind of the object of a pool, which has the name of the pool."""
    claim: tuple[str, str]
    """apiVersion and kind of the object of a node."""
    ready_label: str
    """The label that a node has when all of its devices are there, as key=value."""
    keep: Mapping[str, str]
    """The annotation of a pod that keeps its node."""
    refusal: tuple[str, str]
    """Reason and start of the message of the event about a pod that gets no node."""
    too_large: str
    """A part of the message about a pod that fits no instance type of its pool."""
    simulated_class: str
    """The kind of the simulated provider's object to which a pool refers."""
    sentences: Mapping[str, Mapping[str, Sequence[str]]]
    """Sentences of the report, by section and fact, as in sentences.yaml."""
    start: "Callable[[Site, Settings], Process]"
    instance_types: Callable[[Cluster, Iterable[str]], list[Body]]
    """Returns the instance types of the simulated provider, with offerings in the given zones."""
    gates: Callable[[CompiledSpec], dict[str, bool]]
    """Returns the feature gates by name, as the program has them in a rehearsal."""
    unsupported_gate: Callable[[CompiledSpec], str]
    """Returns a feature gate that the cluster has and the simulated provider does not; empty without such a gate."""
    replacements: Callable[[Cluster], list[Object]]
    """Returns the objects that the simulated provider needs."""
    simulated: Callable[[Manifest], Object]
    """Returns the object that the rehearsal applies: a pool refers to the simulated provider."""
    simulated_text: Callable[[str], str]
    """Returns the text of a file in which pools refer to the simulated provider."""
    reconcile: Callable[[Client], None]
    """Acts once as a controller of the cloud, for objects of the cloud that Argo CD applied."""
    drift: Drift


class ExistingNodes(Struct, frozen=True, kw_only=True):
    """How a rehearsal creates the nodes of a substrate without an autoscaler: all nodes exist from the start."""

    pool: tuple[str, str]
    """apiVersion and kind of the object of a pool, which has the name of the pool."""
    nodes: Callable[[Cluster], list[Object]]
    """Returns the nodes of all pools, with the labels and taints that the objects of the pools give them."""
    pods: Callable[[Cluster], int]
    """Returns the largest number of pods on a node."""
    follow: Callable[[Client, Cluster], None]
    """Gives nodes the labels and taints of the objects of pools in the control plane, and creates missing nodes."""


@cache
def autoscalers() -> tuple[Autoscaler, ...]:
    """Returns the autoscalers of all substrates. A substrate whose nodes exist from the start has no autoscaler."""
    found = (getattr(substrate_module(row.folder), "AUTOSCALER", None) for row in substrates())
    return tuple(row for row in found if row is not None)


def autoscaler_of(cluster: Cluster) -> Autoscaler | None:
    """Returns the autoscaler of a cluster; None if its nodes exist from the start."""
    found: Autoscaler | None = getattr(substrate_module(cluster.spec.cloud.substrate.folder), "AUTOSCALER", None)
    return found


def existing_nodes(substrate: Sections) -> ExistingNodes | None:
    """Returns how the nodes of a substrate are created; None if the substrate has an autoscaler."""
    found: ExistingNodes | None = getattr(substrate_module(substrate.folder), "NODES", None)
    return found


def pool_kind(cluster: Cluster) -> tuple[str, str]:
    """Returns apiVersion and kind of the object that represents a node pool, for example a NodePool."""
    row = autoscaler_of(cluster) or existing_nodes(cluster.spec.cloud.substrate)
    assert row is not None, "a substrate has an autoscaler, or nodes that exist"
    return row.pool
