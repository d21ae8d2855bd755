"""A pool, a queue or a tenant leaves in two commits while work runs on it, and comes back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from gpuc.rehearse.argocd.arrival import Key, is_gone
from gpuc.rehearse.argocd.by_hand import hand_edits
from gpuc.rehearse.argocd.by_hand import play as play_by_hand
from gpuc.rehearse.argocd.desk import ARRIVAL_SECONDS, Desk
from gpuc.rehearse.argocd.held_work import PATIENT, HeldWork, hold
from gpuc.rehearse.argocd.judge import Failure
from gpuc.rehearse.argocd.plan import Departure, Step, growths
from gpuc.rehearse.argocd.result import EditRun
from gpuc.rehearse.argocd.watch import APPLICATION, NAMESPACE
from gpuc.rehearse.context import RehearsalContext

DRAINED_SECONDS = 120
"""From the end of the last work to the end of the pool's last node."""
CLEARED_SECONDS = 60
DELETED = ("NodePool", "NodeOverlay", "EC2NodeClass", "ClusterQueue", "ResourceFlavor", "Topology", "Namespace")
"""Kinds that the README has a command for, in its order; what lies in a namespace goes with the namespace."""
_NODE_CLAIM = ("karpenter.sh/v1", "NodeClaim")


def depart(desk: Desk, kind: str, candidates: Iterable[Departure]) -> Iterator[EditRun]:
    """Plays the departure of the first element whose two commits compile, and its return."""
    before = desk.text
    chosen, refused = _first(desk, candidates, before)
    if chosen is None:
        yield EditRun(f"a {kind} leaves", "", "", None, ARRIVAL_SECONDS, skipped=refused or f"there is no {kind}")
        return
    desk.restore(before)
    held = hold(desk.client, RehearsalContext(desk.spec, desk.client, PATIENT), kind, chosen.name)
    try:
        yield from _leave(desk, chosen, held)
    finally:
        if isinstance(held, HeldWork):
            held.end()


def _first(desk: Desk, candidates: Iterable[Departure], before: str) -> tuple[Departure | None, str]:
    """The first departure of which both commits compile; or why none does."""
    refused = ""
    for candidate in candidates:
        errors = desk.errors(candidate.leaving) or desk.errors(candidate.out)
        desk.restore(before)
        if not errors:
            return candidate, ""
        refused = refused or f"{candidate}: {errors[0]}"
    return None, refused


def _leave(desk: Desk, leaver: Departure, held: HeldWork | str) -> Iterator[EditRun]:
    name = f"{leaver.kind} {leaver.name}"
    work = str(held) if isinstance(held, HeldWork) else f"no work runs: {held}"
    with desk.nothing_deleted(f"{name} is marked as leaving"):
        marked = _step(desk, leaver, f"{name} is marked as leaving", leaver.leaving)
        yield replace(marked, change=f"{marked.change}; {work}")
        yield from _meanwhile(desk, leaver, "it is leaving")
        if leaver.kind == "pool":
            yield _step(desk, leaver, f"{name} stays after all", leaver.back)
            yield _step(desk, leaver, f"{name} is marked again", leaver.leaving)
    _require_running(desk, f"{name} is marked as leaving", held)
    before = desk.text
    freed = [f"{kind} {called}" for kind, called in leaver.held] if leaver.kind == "pool" else []
    left: list[Key] = []
    with desk.nothing_deleted(f"{name} is taken out", freed):
        if errors := desk.errors(leaver.out):
            yield EditRun(f"{name} is taken out", "", "", None, ARRIVAL_SECONDS, note=errors[0])
            return
        change = desk.compiled()
        left += change.kept
        subject = _subject(leaver, change.pruned) or next(iter(change.pruned), None)
        what = f"{len(change.pruned)} objects are pruned, {len(change.kept)} stay"
        yield desk.arrive(f"{name} is taken out", what, change, subject, gone=change.pruned)
        yield from _meanwhile(desk, leaver, "it is out")
    _require_running(desk, f"{name} is taken out", held)
    desk.settle(f"{name} is taken out")
    yield _cleared(desk, leaver, left, held)
    desk.restore(before)
    yield _step(desk, leaver, f"{name} comes back", leaver.back)
    desk.settle(f"{name} comes back")


def _step(desk: Desk, leaver: Departure, name: str, step: Step) -> EditRun:
    """A commit of the leaver's own; one that does not compile is late, with the compiler's words."""
    if errors := desk.errors(step):
        return EditRun(name, "", "", None, ARRIVAL_SECONDS, note=f"the spec does not compile: {errors[0]}")
    change = desk.compiled()
    what = f"{len(change.written)} objects change"
    return desk.arrive(name, what, change, _subject(leaver, change.fields), gone=change.pruned)


def _subject(leaver: Departure, keys: Iterable[Key]) -> Key | None:
    """The object that the element is known by, where it is among the keys."""
    return next((key for key in keys if (key.kind, key.name) in leaver.held), None)


def _meanwhile(desk: Desk, leaver: Departure, when: str) -> Iterator[EditRun]:
    """Another pool grows and another object is healed, while the removal is under way."""
    besides = leaver.name if leaver.kind == "pool" else ""
    yield desk.play(f"... {when}: another pool grows", growths(desk.spec.cluster, besides))
    edit = next(hand_edits(desk, besides), None)
    if edit is not None:
        yield play_by_hand(desk, edit, f"... {when}: by hand")


def _require_running(desk: Desk, name: str, held: HeldWork | str) -> None:
    if isinstance(held, HeldWork) and (problem := held.problem):
        desk.failures.append(Failure("deleted", name, str(held), problem, desk.watch.now))


def _cleared(desk: Desk, leaver: Departure, left: list[Key], held: HeldWork | str) -> EditRun:
    """Ends the work, waits for the nodes, lists what is left over as the README does, and deletes it."""
    name = f"what {leaver.kind} {leaver.name} left is deleted"
    notes = []
    if isinstance(held, HeldWork):
        notes.append(f"{held}: {held.problem or 'its pod ran until here'}")
        held.end()
    if leaver.kind == "pool":
        drained = desk.watch.until(lambda: not _claims(desk, leaver.name), DRAINED_SECONDS)
        after = f"not after {DRAINED_SECONDS} s" if drained is None else f"after {drained:.0f} s"
        notes.append(f"its last node is gone {after}")
    desk.argocd.refresh(*desk.applications)
    listed = list(left_over(desk))
    unlisted = [str(key) for key in left if (key.kind, key.namespace, key.name) not in {_short(k) for k in listed}]
    if unlisted:
        words = "Argo CD does not list it as to be pruned"
        desk.failures += [Failure("left", desk.name, missed, words, desk.watch.now) for missed in unlisted]
    started = desk.watch.now
    leavers = sorted(dict.fromkeys([*listed, *left]), key=_turn)
    for key in leavers:
        if key.kind in DELETED:
            desk.client.delete(*key.place, now=False)

    def cleared() -> bool:
        return all(is_gone(desk.client, key) for key in leavers) and not any(left_over(desk))

    taken = desk.watch.until(cleared, CLEARED_SECONDS)
    if taken is None:
        still = [key for key in leavers if not is_gone(desk.client, key)]
        words = f"deleted {desk.watch.now - started:.0f} s ago and still there"
        desk.failures += [Failure("left", desk.name, str(key), words, desk.watch.now) for key in still]
    subjects = ", ".join(str(key) for key in listed)
    return EditRun(name, f"{len(listed)} objects", subjects, taken, CLEARED_SECONDS, note="; ".join(notes))


def left_over(desk: Desk) -> Iterator[Key]:
    """The objects that Git does not have any more and that are still there, as the Applications list them."""
    for application in desk.argocd.client.list_all(*APPLICATION, NAMESPACE):
        if application["spec"].get("project") != desk.name:
            continue
        for row in application.get("status", {}).get("resources") or ():
            if row.get("requiresPruning"):
                group = f"{row['group']}/" if row.get("group") else ""
                yield Key(f"{group}{row['version']}", row["kind"], row.get("namespace", ""), row["name"])


def _turn(key: Key) -> int:
    return DELETED.index(key.kind) if key.kind in DELETED else len(DELETED)


def _short(key: Key) -> tuple[str, str, str]:
    return key.kind, key.namespace, key.name


def _claims(desk: Desk, pool: str) -> list[object]:
    return list(desk.client.list_all(*_NODE_CLAIM, labels=f"karpenter.sh/nodepool={pool}"))
