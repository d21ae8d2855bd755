"""What the substrate alone knows about the nodes of a pool that come and go."""

from collections.abc import Iterator, Mapping
from typing import Protocol

from gpuc.catalog.records import Purchase


class Scaling(Protocol):
    """How the substrate starts, replaces and ends the nodes of a pool. Nodes that exist already have no scaling."""

    @property
    def node_pools(self) -> tuple[str, ...]:
        """The names of the objects that make the nodes. The first has the name of the pool."""

    @property
    def static_node_pool(self) -> str:
        """The name of the object whose nodes always run; empty if there is none."""

    @property
    def keeps_runs(self) -> bool:
        """Whether no node of the pool drains while a run is on it."""

    @property
    def run_annotations(self) -> Mapping[str, str]:
        """The annotations of a pod that keep its node until the pod ends."""

    @property
    def notice_seconds(self) -> int | None:
        """The time from the notice of an interruption to the end of the node; None without interruptions."""

    @property
    def grace_seconds(self) -> int | None:
        """The longest time for which a node drains; None without a limit."""

    @property
    def join_minutes(self) -> int:
        """The maximum time from the launch of a node until the node joins the cluster."""

    @property
    def registered(self) -> tuple[str, str]:
        """The first step of the GPU gate: its name, and what `kubectl wait --for` waits for before taints change."""

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """The values of node labels between which the substrate chooses, by label."""

    def bought(self, nodes: int) -> Iterator[tuple[int, tuple[Purchase, ...]]]:
        """Yields numbers of nodes with the purchase options of which one applies, the first choice first."""
