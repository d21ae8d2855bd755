"""What a run of Argo CD must not show: pure functions over its timeline, and over objects before and after an edit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from gpuc.rehearse.argocd.timeline import State, Timeline

Kind = Literal["unfinished", "project", "refused", "out of sync", "wave", "standstill", "deleted", "late", "left"]

STANDSTILL_SECONDS = 20
"""An operation that waits for a deletion or a confirmation longer than this holds up everything else."""
NEXT_WAVE_SECONDS = 5
"""Between two waves Argo CD waits two seconds: so much older may the health be that a wave starts on."""
_PROJECT = re.compile(r"not permitted in project|not permitted in AppProject|is not permitted", re.IGNORECASE)
_REFUSED = re.compile(
    r"is invalid|failed to apply|failed to create typed patch|denied the request|\.spec\S* is not valid"
)
_WAITS = re.compile(r"waiting for (pruning confirmation|deletion)")
_ATTEMPT = re.compile(r"\s*(Retrying attempt #\d+.*|\(retried \d+ times\)\.?)")


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing that makes the run fail."""

    kind: Kind
    application: str
    object: str
    """"Kind namespace/name"; empty where it is about the Application itself."""
    words: str
    at: float
    """Seconds since the watch began."""

    def __str__(self) -> str:
        where = f"{self.application}: {self.object}" if self.object else self.application
        return f"{self.kind}: {where} at {self.at:.1f} s: {self.words}"


@dataclass(frozen=True, slots=True)
class Excuse:
    """An Application whose refusals are the purpose of an edit, from one second to another."""

    application: str
    start: float
    end: float

    def covers(self, seen: State) -> bool:
        return self.application == seen.name and self.start <= seen.at <= self.end


@dataclass(frozen=True, slots=True)
class Holder:
    """An object that work depends on: a NodePool, a Namespace, a ClusterQueue."""

    uid: str
    leaves: bool
    """Whether it has a deletionTimestamp."""
    holds: str = ""
    """The work that runs on it; empty where none does."""


def unfinished(timeline: Timeline, moment: float, excused: Iterable[str] = ()) -> list[Failure]:
    """Applications that are not Synced, Healthy and Succeeded at a moment; excused are names that nothing renders."""
    without = set(excused)
    return [
        Failure("unfinished", name, ", ".join(seen.differing[:3]), _state_words(seen), moment)
        for name, seen in sorted(timeline.at(moment).items())
        if not seen.is_good and name not in without
    ]


def out_of_sync(timeline: Timeline, moment: float, excused: Iterable[str] = ()) -> list[Failure]:
    """Objects that Argo CD has applied and still finds different from Git."""
    without = set(excused)
    return [
        Failure("out of sync", name, differing, "differs from Git after its sync", moment)
        for name, seen in sorted(timeline.at(moment).items())
        for differing in seen.differing
        if name not in without and seen.phase != "Running"
    ]


def refusals(timeline: Timeline, excuses: Iterable[Excuse] = ()) -> list[Failure]:
    """What the AppProject or the API server refused, once for each object and message."""
    allowed = tuple(excuses)
    found: dict[tuple[str, str, str], Failure] = {}
    for seen in timeline:
        if any(excuse.covers(seen) for excuse in allowed):
            continue
        for name, words in _messages(seen):
            kind: Kind | None = "project" if _PROJECT.search(words) else "refused" if _REFUSED.search(words) else None
            if kind:
                key = seen.name, name, words
                found.setdefault(key, Failure(kind, seen.name, name, words, seen.at))
    named = {failure.application for failure in found.values() if failure.object}
    # The operation repeats in one sentence what its objects have in theirs.
    return [failure for failure in found.values() if failure.object or failure.application not in named]


def early_waves(timeline: Timeline) -> list[Failure]:
    """Applications that were created before the wave before theirs was good.

    The wave directly before has to be good within the seconds that Argo CD waits between waves; the ones before
    that have to have been good at some time.
    """
    return [
        Failure("wave", later.name, f"Application {name}", f"wave {later.wave} began before wave {wave}: {words}", at)
        for later, name, wave, words, at in _pairs(timeline)
    ]


def restless(timeline: Timeline) -> int:
    """Pairs of an Application that is created and one of an earlier wave that is good no more at that moment."""
    early = {(failure.application, failure.object) for failure in early_waves(timeline)}
    count = 0
    for later in _created(timeline):
        for name, seen in timeline.at(later.at).items():
            if _is_before(seen, later) and not seen.is_good and (later.name, f"Application {name}") not in early:
                count += 1
    return count


def standstills(timeline: Timeline, end: float, limit_s: float = STANDSTILL_SECONDS) -> list[Failure]:
    """Operations that wait for a confirmation or a deletion, and stop all other changes of their Application."""
    found = []
    for name in sorted({seen.name for seen in timeline}):
        waits = ((seen, until) for seen, until in timeline.spans(name, end) if seen.phase == "Running")
        for words, group in groupby(waits, lambda pair: pair[0].message):
            spans = list(group)
            start, stop = spans[0][0].at, spans[-1][1]
            if _WAITS.search(words) and stop - start > limit_s:
                found.append(Failure("standstill", name, "", f"{words}, for {stop - start:.0f} s", start))
    return found


def deleted(
    before: Mapping[str, Holder], after: Mapping[str, Holder], freed: Iterable[str], application: str, at: float
) -> list[Failure]:
    """Objects with work that an edit has deleted, though no reviewed commit takes them out.

    Args:
        before, after: holders by "Kind name".
        freed: objects that a second commit has taken out.
        application: the edit or the Application that is responsible.
    """
    allowed, found = set(freed), []
    for name, holder in before.items():
        now = after.get(name)
        if name in allowed or holder.leaves or (now is not None and now.uid == holder.uid and not now.leaves):
            continue
        became = "is gone" if now is None else "was deleted and made again" if now.uid != holder.uid else "is deleted"
        work = f" while {holder.holds} runs" if holder.holds else ""
        found.append(Failure("deleted", application, name, f"{became}{work}, and no commit takes it out", at))
    return found


def waits(timeline: Timeline, start: float, end: float, least_s: float = 0.5) -> list[str]:
    """What Applications waited for between two seconds, as "application: message (n s)", longest first."""
    spent: dict[tuple[str, str], float] = {}
    for name in sorted({seen.name for seen in timeline}):
        for seen, until in timeline.spans(name, end):
            overlap = min(until, end) - max(seen.at, start)
            if overlap > 0 and (words := _waiting(seen)):
                spent[name, words] = spent.get((name, words), 0.0) + overlap
    longest = sorted(spent.items(), key=lambda entry: -entry[1])
    return [f"{name}: {words} ({seconds:.1f} s)" for (name, words), seconds in longest if seconds >= least_s]


def _waiting(seen: State) -> str:
    if seen.phase != "Running":
        return ""
    return _ATTEMPT.sub(" (retrying)", seen.message).strip() if seen.message else "operation runs"


def _messages(seen: State) -> Iterator[tuple[str, str]]:
    for name, words in seen.refused:
        yield name, _plain(words)
    if seen.phase != "Succeeded":
        yield "", _plain(seen.message)
    for kind, words in seen.conditions:
        if kind.endswith("Error"):
            yield "", _plain(words)


def _plain(words: str) -> str:
    """The message without the number of the attempt, which makes one refusal look like many."""
    return " ".join(_ATTEMPT.sub("", words).split())


def _state_words(seen: State) -> str:
    problems = "; ".join(f"{kind}: {words}" for kind, words in seen.conditions)
    return f"{seen}; {problems}" if problems else str(seen)


def _created(timeline: Timeline) -> Iterator[State]:
    """The first state of each Application of a wave, in the order of their creation."""
    known: set[str] = set()
    for seen in timeline:
        if seen.name not in known:
            known.add(seen.name)
            if seen.wave is not None:
                yield seen


def _is_before(seen: State, later: State) -> bool:
    return seen.wave is not None and later.wave is not None and seen.cluster == later.cluster and seen.wave < later.wave


def _pairs(timeline: Timeline) -> Iterator[tuple[State, str, int, str, float]]:
    """(created, name, wave and state of one that was not good, second)."""
    for later in _created(timeline):
        earlier = [seen for seen in timeline.at(later.at).values() if _is_before(seen, later)]
        directly = max((seen.wave or 0 for seen in earlier), default=0)
        for seen in sorted(earlier, key=lambda found: (found.wave or 0, found.name)):
            since = later.at - NEXT_WAVE_SECONDS if seen.wave == directly else 0.0
            if not _was_good(timeline, seen.name, since, later.at):
                yield later, seen.name, seen.wave or 0, str(seen), later.at


def _was_good(timeline: Timeline, name: str, start: float, end: float) -> bool:
    return any(seen.is_good and until >= start and seen.at <= end for seen, until in timeline.spans(name, end))
