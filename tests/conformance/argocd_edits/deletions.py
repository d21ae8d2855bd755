"""Objects on which workloads depend, before and after an edit."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gpuc_rehearsal.argocd.checks import Failure


@dataclass(frozen=True, slots=True)
class ProtectedObject:
    """An object that workloads depend on: a NodePool, a Namespace or a ClusterQueue."""

    uid: str
    is_terminating: bool
    """Whether the object has a deletionTimestamp."""
    used_by: str = ""
    """A workload that uses the object. Empty if no workload uses the object."""


def unexpected_deletions(
    before: Mapping[str, ProtectedObject],
    after: Mapping[str, ProtectedObject],
    allowed: Iterable[str],
    application: str,
    at: float,
) -> list[Failure]:
    """Returns a failure for each protected object that was deleted although no commit removes it.

    Args:
        before, after: the protected objects before and after an edit, by "Kind name".
        allowed: objects that a commit removes, as "Kind name".
        application: the edit, or the Application that caused the deletion.
        at: the time of the failure, in seconds since the start of the watch.
    """
    removed, found = set(allowed), []
    for name, known in before.items():
        now = after.get(name)
        is_unchanged = now is not None and now.uid == known.uid and not now.is_terminating
        if name in removed or known.is_terminating or is_unchanged:
            continue
        became = "is gone" if now is None else "is being deleted"
        if now is not None and now.uid != known.uid:
            became = "was deleted and created again"
        workload = f" while {known.used_by} runs" if known.used_by else ""
        found.append(Failure("deleted", application, name, f"{became}{workload}, but no commit removes the object", at))
    return found
