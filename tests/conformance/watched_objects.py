"""A local copy of objects of a control plane, which watches keep up to date."""

import http.client
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Self

from gpuc_rehearsal.client import ApiError, Client, Object

Kind = tuple[str, str]
"""apiVersion and kind."""
WATCH_SECONDS = 300
PAUSE_SECONDS = 0.2


class WatchedObjects:
    """The objects of some kinds in all namespaces, inside a `with` block."""

    def __init__(self, client: Client, kinds: Sequence[Kind]) -> None:
        self._client = client
        self._kinds = kinds
        self._lock = threading.Lock()
        self._objects: dict[Kind, dict[str, Object]] = {kind: {} for kind in kinds}
        self._children: dict[str, dict[str, tuple[Kind, Object]]] = {}
        self._events: dict[str, dict[str, Object]] = {}
        self._stopped = threading.Event()

    def __enter__(self) -> Self:
        for kind in self._kinds:
            threading.Thread(target=self._follow, args=(kind,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()

    def find(self, kind: Kind, uid: str) -> Object | None:
        """Returns the object with a uid."""
        with self._lock:
            return self._objects[kind].get(uid)

    def all(self, kind: Kind) -> list[Object]:
        """Returns all objects of a kind."""
        with self._lock:
            return list(self._objects[kind].values())

    def family(self, uid: str) -> list[tuple[Kind, Object]]:
        """Returns the kinds and objects that an object owns, directly or through other objects."""
        found: list[tuple[Kind, Object]] = []
        with self._lock:
            waiting = [uid]
            while waiting:
                children = self._children.get(waiting.pop(), {})
                found += children.values()
                waiting += children
        return found

    def events_of(self, uid: str) -> list[Object]:
        """Returns the events about an object."""
        with self._lock:
            return list(self._events.get(uid, {}).values())

    def forget_events(self) -> None:
        """Forgets all events."""
        with self._lock:
            self._events.clear()
            self._objects.get(("v1", "Event"), {}).clear()

    def _follow(self, kind: Kind) -> None:
        """Lists and watches a kind until the `with` block ends; lists again after an error."""
        while not self._stopped.is_set():
            try:
                listed, version = self._client.list_with_version(*kind, "")
                self._replace(kind, [{"apiVersion": kind[0], "kind": kind[1], **document} for document in listed])
                for change, document in self._changes(kind, version):
                    if change != "BOOKMARK":
                        self._update(kind, document, is_deleted=change == "DELETED")
            except (ApiError, OSError, ValueError, http.client.HTTPException):
                time.sleep(PAUSE_SECONDS)

    def _changes(self, kind: Kind, version: str) -> Iterator[tuple[str, Object]]:
        """Yields changes until an error; starts new watches where the last watch ended."""
        while not self._stopped.is_set():
            for change, document in self._client.watch(*kind, "", version, WATCH_SECONDS):
                version = document["metadata"]["resourceVersion"]
                yield change, document

    def _replace(self, kind: Kind, documents: Sequence[Object]) -> None:
        current = {document["metadata"]["uid"] for document in documents}
        for document in self.all(kind):
            if document["metadata"]["uid"] not in current:
                self._update(kind, document, is_deleted=True)
        for document in documents:
            self._update(kind, document, is_deleted=False)

    def _update(self, kind: Kind, document: Object, *, is_deleted: bool) -> None:
        uid = document["metadata"]["uid"]
        with self._lock:
            before = self._objects[kind].pop(uid, None)
            for owner in _owners(before) if before else ():
                self._children.get(owner, {}).pop(uid, None)
            if not is_deleted:
                self._objects[kind][uid] = document
                for owner in _owners(document):
                    self._children.setdefault(owner, {})[uid] = (kind, document)
            if kind == ("v1", "Event") and not is_deleted:
                subject = document.get("involvedObject", {}).get("uid", "")
                self._events.setdefault(subject, {})[uid] = document


def _owners(document: Object) -> list[str]:
    return [owner["uid"] for owner in document["metadata"].get("ownerReferences", ())]
