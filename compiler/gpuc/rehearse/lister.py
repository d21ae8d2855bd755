"""One look at the cluster for everybody: what a hundred scenes that wait at the same time see it through."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gpuc.rehearse.client import Client, Object
from gpuc.rehearse.session import Rehearsal

LOOK_SECONDS = 0.4
"""How old a look may be: the API server answers one list per kind and look, however many wait."""
WORKLOAD = ("kueue.x-k8s.io/v1beta2", "Workload")
POD = ("v1", "Pod")
NODE = ("v1", "Node")
EVENT = ("v1", "Event")


@dataclass
class Lister:
    """Lists of whole kinds, each fetched once per look."""

    client: Client
    _locks: dict[tuple[str, str], threading.Lock] = field(default_factory=dict)
    _looks: dict[tuple[str, str], tuple[float, dict[str, list[Object]]]] = field(default_factory=dict)

    def find(self, kind: tuple[str, str], key: str, index: Callable[[Object], str]) -> list[Object]:
        """The objects of a kind that an index gives a key; a kind has one index."""
        with self._locks.setdefault(kind, threading.Lock()):
            taken, found = self._looks.get(kind, (0.0, {}))
            if time.monotonic() - taken > LOOK_SECONDS:
                found = {}
                for each in self.client.list_all(*kind):
                    found.setdefault(index(each), []).append(each)
                self._looks[kind] = time.monotonic(), found
        return found.get(key, [])


@dataclass(frozen=True)
class SharedRehearsal(Rehearsal):
    """A rehearsal whose scenes look together; what they see is up to LOOK_SECONDS old."""

    lister: Lister = field(kw_only=True)

    def workload_of(self, owner: Object) -> Object | None:
        """The Workload that Kueue made for a Job; None until it has."""
        return next(iter(self.lister.find(WORKLOAD, owner["metadata"]["uid"], _owner)), None)

    def pods_of(self, job: Object) -> list[Object]:
        """The pods of a Job."""
        return self.lister.find(POD, job["metadata"]["uid"], _owner)

    def nodes(self, pool: str = "") -> list[Object]:
        """Nodes of a pool, or of all pools."""
        found = self.lister.find(NODE, "", lambda each: "")
        return found if not pool else super().nodes(pool)

    def events_of(self, document: Object) -> list[tuple[str, str]]:
        """(reason, message) of every event about an object."""
        found = self.lister.find(
            EVENT, document["metadata"]["uid"], lambda each: str(each["involvedObject"].get("uid"))
        )
        return [(event.get("reason", ""), event.get("message", "")) for event in found]


def shared(rehearsal: Rehearsal) -> SharedRehearsal:
    """The same rehearsal, to be looked at by many at once."""
    lister = Lister(rehearsal.client)
    return SharedRehearsal(rehearsal.spec, rehearsal.client, rehearsal.timeouts, LOOK_SECONDS, lister=lister)


def _owner(each: Object) -> str:
    """The object that a controller made it for."""
    owners = each["metadata"].get("ownerReferences", ())
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")
