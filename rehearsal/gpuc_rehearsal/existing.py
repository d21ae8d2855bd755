"""Nodes that exist from the start of a rehearsal, because no provider starts nodes.

A substrate whose clusters have such nodes has the variable NODES in its module of gpuc_rehearsal.substrates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpuc.model import Cluster
from gpuc.spec.substrate import Sections
from gpuc_rehearsal.autoscaler import autoscaler_of
from gpuc_rehearsal.client import Client, Object
from gpuc_rehearsal.parts import substrate_module


@dataclass(frozen=True, kw_only=True)
class ExistingNodes:
    """The nodes of a substrate without a provider."""

    pool: tuple[str, str]
    """apiVersion and kind of the object of a pool, which has the name of the pool."""
    nodes: Callable[[Cluster], list[Object]]
    """Returns the nodes of all pools, with the labels and taints that the objects of the pools give them."""
    pods: Callable[[Cluster], int]
    """Returns the largest number of pods on a node."""
    follow: Callable[[Client, Cluster], None]
    """Gives nodes the labels and taints of the objects of pools in the control plane, and creates missing nodes."""


def existing_nodes(substrate: Sections) -> ExistingNodes | None:
    """Returns the nodes of a substrate without a provider; None if a provider starts the nodes."""
    record: ExistingNodes | None = getattr(substrate_module(substrate.folder), "NODES", None)
    return record


def pool_kind(cluster: Cluster) -> tuple[str, str]:
    """Returns apiVersion and kind of the object of a pool, which has the name of the pool."""
    row = autoscaler_of(cluster) or existing_nodes(cluster.spec.cloud.substrate)
    assert row is not None, "a substrate has an autoscaler, or nodes that exist"
    return row.pool
