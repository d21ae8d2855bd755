"""Removes the nodes of Karpenter on which no pod runs, as soon as no pod can get them any more."""

import time
from collections.abc import Collection, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field

from gpuc.kubernetes.node_pool import NODE_POOL
from gpuc_rehearsal.client import ApiError, Client, Object
from gpuc_rehearsal.substrates.eks.karpenter import CLAIM
from tests.conformance.real_answers import NODE, POD
from tests.conformance.watched_objects import Kind, WatchedObjects

EMPTY_SECONDS = 1.0
"""The time without pods after which a node gets no further pods."""
UNUSED_SECONDS = 15.0
"""The same for a new node, whose pods have not arrived yet."""
CORDONED_SECONDS = 1.0
"""The time in which a pod can arrive that the scheduler had bound before the node was cordoned."""


@dataclass
class EmptyNodes:
    """The nodes without pods, except those of static pools."""

    client: Client
    watched: WatchedObjects
    threads: Executor
    static: Collection[str]
    """The names of NodePools whose nodes always run."""
    _used: set[str] = field(default_factory=set)
    _empty: dict[str, float] = field(default_factory=dict)
    _cordoned: dict[str, float] = field(default_factory=dict)
    _removed: set[str] = field(default_factory=set)

    def removable(self, kind: Kind) -> list[Object]:
        """Returns the nodes, or their claims, that Karpenter started for pods."""
        pools = ((row["metadata"].get("labels", {}).get(NODE_POOL), row) for row in self.watched.all(kind))
        return [row for pool, row in pools if pool and pool not in self.static]

    def sweep(self, patience: float) -> None:
        """Cordons nodes that are empty for some time, and removes them if no pod has arrived then."""
        now = time.monotonic()
        busy = {pod["spec"].get("nodeName") for pod in self.watched.all(POD)}
        for node in self.removable(NODE):
            name = node["metadata"]["name"]
            if name in self._removed:
                continue
            if name in busy:
                self._used.add(name)
                self._empty.pop(name, None)
                if self._cordoned.pop(name, None):
                    self._cordon(name, is_cordoned=False)
                continue
            since = self._empty.setdefault(name, now)
            if (cordoned := self._cordoned.get(name)) is not None:
                if now - cordoned > CORDONED_SECONDS:
                    self._removed.add(name)
                    self.threads.submit(self._remove, node)
            elif now - since > (EMPTY_SECONDS if name in self._used else UNUSED_SECONDS * patience):
                self._cordon(name, is_cordoned=True)
                self._cordoned[name] = time.monotonic()

    def remove(self, nodes: Collection[Object], claims: Collection[Object]) -> None:
        """Removes nodes that no running workload can use, and claims, also those whose nodes do not exist yet."""
        for node in nodes:
            if (name := node["metadata"]["name"]) not in self._removed:
                self._removed.add(name)
                self.threads.submit(self._remove, node)
        for claim in claims:
            if (name := claim["metadata"]["name"]) not in self._removed:
                self._removed.add(name)
                self.threads.submit(self._delete, {**claim, "apiVersion": CLAIM[0], "kind": CLAIM[1]})

    def _cordon(self, name: str, *, is_cordoned: bool) -> None:
        node = {"apiVersion": NODE[0], "kind": NODE[1], "metadata": {"name": name}}
        try:
            self.client.patch_object(node, {"spec": {"unschedulable": is_cordoned or None}})
        except ApiError as error:
            if error.code != 404:
                raise

    def _remove(self, node: Object) -> None:
        """Removes a node and its claim without draining the node, which takes ten seconds."""
        for document in (*self._claims(node["metadata"]["name"]), {**node, "apiVersion": NODE[0], "kind": NODE[1]}):
            self._delete(document)

    def _delete(self, document: Object) -> None:
        self.client.delete_object(document)
        self.client.remove_finalizers(document)

    def _claims(self, node: str) -> Iterator[Object]:
        for claim in self.watched.all(CLAIM):
            if claim.get("status", {}).get("nodeName") == node:
                yield {**claim, "apiVersion": CLAIM[0], "kind": CLAIM[1]}
