"""Objects that another Application applies after a change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Change
from gpuc.plan.pruning import is_definition, reason_to_leave


@dataclass(frozen=True)
class MovedObject:
    """An object of both states that moves to another Application."""

    manifest: Manifest
    """The object after the change."""
    old: str
    """The name of the Application before the change."""
    new: str
    """The name of the Application after the change."""
    reason: str
    """Why the old Application does not prune the object; empty if it prunes the object."""

    @property
    def is_kept(self) -> bool:
        """Whether the object stays in the cluster, and stays with its old Application."""
        return bool(self.reason)


def moved_objects(change: Change) -> Iterator[MovedObject]:
    """Yields the objects that another Application applies after the change.

    A CustomResourceDefinition belongs to no Application, so its move changes nothing in the cluster.
    """
    for pair in change.all_pairs:
        if pair.before is None or pair.after is None or not pair.manifest.api or is_definition(pair.manifest):
            continue
        old, new = change.before.application_of(pair.before), change.after.application_of(pair.after)
        if old is not None and new is not None and old.name != new.name:
            yield MovedObject(pair.after, old.name, new.name, reason_to_leave(change, pair.before))
