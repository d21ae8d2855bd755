"""Facts that only the substrate has about the nodes of a pool that start and end."""

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
        """Whether a node of the pool never drains while a run is on the node."""

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
        """The first step of the GPU gate: its name, and the condition for `kubectl wait --for`.

        Taints change after this step.
        """

    @property
    def choices(self) -> Mapping[str, tuple[str, ...]]:
        """The possible values of node labels whose value the substrate chooses, by label."""

    def bought(self, nodes: int) -> Iterator[tuple[int, tuple[Purchase, ...]]]:
        """Yields numbers of nodes, each with its possible purchase options.

        The substrate uses the first available option.
        """
