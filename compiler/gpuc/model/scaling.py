"""The interface through which a substrate describes how the nodes of a pool are created and removed."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from gpuc.catalog.records import Purchase


class Scaling(Protocol):
    """How the substrate creates, replaces and removes the nodes of a pool. Nodes that exist already have no Scaling."""

    @property
    def node_pools(self) -> tuple[str, ...]:
        """The names of the objects that create the nodes, such as NodePools. The first is the name of the pool."""

    @property
    def static_node_pool(self) -> str:
        """The name of the object that creates the nodes that always run; empty if no nodes always run."""

    @property
    def keeps_runs(self) -> bool:
        """Whether the nodes of the pool never drain while they have pods of a training run."""

    @property
    def run_annotations(self) -> Mapping[str, str]:
        """The annotations with which a pod prevents that its node drains before the pod ends."""

    @property
    def notice_seconds(self) -> int | None:
        """The seconds from the notice of an interruption to the end of the node; None if nothing interrupts nodes."""

    @property
    def grace_seconds(self) -> int | None:
        """The longest time, in seconds, that a node may take to drain; None without a limit."""

    @property
    def join_minutes(self) -> int:
        """The longest time, in minutes, from the launch of a node until the node joins the cluster."""

    @property
    def registered(self) -> tuple[str, str]:
        """What the DaemonSet that removes the startup taint waits for before it changes the taints of a node.

        A pair: the name of its first container, and the condition for `kubectl wait --for`.
        """

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """The possible values of the node labels whose value the substrate chooses, such as the zone, by key."""

    def bought(self, nodes: int) -> Iterator[tuple[int, tuple[Purchase, ...]]]:
        """Divides nodes into groups. Yields the number of nodes of each group, and its purchase options, best first."""
