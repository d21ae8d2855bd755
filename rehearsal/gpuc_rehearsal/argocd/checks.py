"""Checks of a run of Argo CD. The functions compare states of Applications."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from gpuc_rehearsal.argocd.timeline import State, Timeline
from gpuc_rehearsal.client import Object, condition

Kind = Literal[
    "unfinished", "pending", "project", "refused", "out of sync", "wave", "blocked", "deleted", "late", "leftover",
    "reverted",
]  # fmt: skip

BLOCKED_SECONDS = 20
"""Limit for the time that an operation waits for a deletion or a confirmation, and so blocks later syncs."""
NEXT_WAVE_SECONDS = 5
"""Argo CD waits 2 s between waves, so the health of the previous wave can be some seconds old when a wave starts."""
_PROJECT = re.compile(r"not permitted in project|not permitted in AppProject|is not permitted", re.IGNORECASE)
_REFUSED = re.compile(
    r"is invalid|failed to apply|failed to create typed patch|denied the request|\.spec\S* is not valid"
)
_AWAITED = re.compile(
    r"no matches for kind|could not find the requested resource|namespaces \S+ not found|failed calling webhook"
)
"""Refusals until the kind, the namespace or the webhook of an object exists: Argo CD tries again."""
_BLOCKING = re.compile(r"waiting for (pruning confirmation|deletion)")
_ATTEMPT = re.compile(r"\s*(Retrying attempt #\d+.*|\(retried \d+ times\)\.?)")


@dataclass(frozen=True, slots=True)
class Failure:
    """A reason why a run fails."""

    kind: Kind
    application: str
    object: str
    """"Kind namespace/name"; empty if the failure is about the Application itself."""
    message: str
    at: float
    """Seconds since the start of the watch."""

    def __str__(self) -> str:
        where = f"{self.application}: {self.object}" if self.object else self.application
        return f"{self.kind}: {where} at {self.at:.1f} s: {self.message}"


@dataclass(frozen=True, slots=True)
class ExpectedRefusal:
    """A period in which refusals of an Application's objects are no failures: an edit made an object invalid."""

    application: str
    start: float
    end: float

    def covers(self, state: State) -> bool:
        """Returns whether the state is of this Application and in this period."""
        return self.application == state.name and self.start <= state.at <= self.end


def unfinished(timeline: Timeline, moment: float, ignored: Iterable[str] = ()) -> list[Failure]:
    """Returns a failure for each Application, except `ignored`, that is not Synced, Healthy and Succeeded then."""
    return [
        Failure("unfinished", name, ", ".join(state.differing[:3]), _description(state), moment)
        for name, state in _checked(timeline, moment, ignored)
        if not state.is_good
    ]


def pending_pods(pods: Iterable[Object], at: float) -> list[Failure]:
    """Returns a failure for each pod that the scheduler has assigned to no node, with the message of the scheduler."""
    return [
        Failure("pending", "", f"Pod {pod['metadata']['namespace']}/{pod['metadata']['name']}", message, at)
        for pod in pods
        if not pod["spec"].get("nodeName") and (message := condition(pod, "PodScheduled").get("message"))
    ]


def out_of_sync(timeline: Timeline, moment: float, ignored: Iterable[str] = ()) -> list[Failure]:
    """Returns a failure for each object that is OutOfSync while no operation of its Application runs.

    ignored: names of Applications that are not checked.
    """
    return [
        Failure("out of sync", name, differing, "differs from Git after the sync", moment)
        for name, state in _checked(timeline, moment, ignored)
        for differing in state.differing
        if state.phase != "Running"
    ]


def _checked(timeline: Timeline, moment: float, ignored: Iterable[str]) -> list[tuple[str, State]]:
    skipped = set(ignored)
    return [(name, state) for name, state in sorted(timeline.at(moment).items()) if name not in skipped]


def refusals(timeline: Timeline, expected_refusals: Iterable[ExpectedRefusal] = ()) -> list[Failure]:
    """Returns a failure for each object that the AppProject or the API server refused, without repeated messages."""
    allowed = tuple(expected_refusals)
    found: dict[tuple[str, str, str], Failure] = {}
    for state in timeline:
        awaits = bool(state.refused) and all(_AWAITED.search(message) for _, message in state.refused)
        if awaits or any(expected.covers(state) for expected in allowed):
            continue
        for name, message in _messages(state):
            if kind := _refusal_kind(message):
                key = state.name, name, message
                found.setdefault(key, Failure(kind, state.name, name, message, state.at))
    with_object = {failure.application for failure in found.values() if failure.object}
    # The message of an operation repeats the messages of the objects.
    return [failure for failure in found.values() if failure.object or failure.application not in with_object]


def _refusal_kind(message: str) -> Kind | None:
    if _PROJECT.search(message):
        return "project"
    return "refused" if _REFUSED.search(message) else None


def early_waves(timeline: Timeline) -> list[Failure]:
    """Returns a failure for each Application that was created before the Applications of earlier waves were good.

    Applications of the previous wave must be good within NEXT_WAVE_SECONDS before the creation. Applications of earlier
    waves must have been good at any time before the creation. Good means Synced, Healthy and Succeeded.
    """
    found = []
    for later in _created(timeline):
        earlier = [state for state in timeline.at(later.at).values() if _is_before(state, later)]
        previous = max((state.wave or 0 for state in earlier), default=0)
        for state in sorted(earlier, key=lambda state: (state.wave or 0, state.name)):
            since = later.at - NEXT_WAVE_SECONDS if state.wave == previous else 0.0
            if not _was_good(timeline, state.name, since, later.at):
                began = f"wave {later.wave} began before wave {state.wave} was Synced and Healthy: {state}"
                found.append(Failure("wave", later.name, f"Application {state.name}", began, later.at))
    return found


def regressions(timeline: Timeline) -> int:
    """Returns how often an Application was created while an Application of an earlier wave was no longer good."""
    early = {(failure.application, failure.object) for failure in early_waves(timeline)}
    count = 0
    for later in _created(timeline):
        for name, state in timeline.at(later.at).items():
            if _is_before(state, later) and not state.is_good and (later.name, f"Application {name}") not in early:
                count += 1
    return count


def blocked_operations(timeline: Timeline, end: float) -> list[Failure]:
    """Returns a failure for each operation that waits longer than BLOCKED_SECONDS for a confirmation or a deletion.

    Such an operation blocks all changes of the Application.
    """
    found = []
    for name in sorted({state.name for state in timeline}):
        running = ((state, until) for state, until in timeline.spans(name, end) if state.phase == "Running")
        for message, group in groupby(running, lambda pair: pair[0].message):
            spans = list(group)
            start, stop = spans[0][0].at, spans[-1][1]
            if _BLOCKING.search(message) and stop - start > BLOCKED_SECONDS:
                found.append(Failure("blocked", name, "", f"{message}, for {stop - start:.0f} s", start))
    return found


def wait_times(timeline: Timeline, start: float, end: float, min_s: float = 0.5) -> list[str]:
    """Returns how long Applications waited between two times, as "application: message (n s)", longest wait first.

    Waits shorter than min_s are omitted.
    """
    spent: dict[tuple[str, str], float] = {}
    for name in sorted({state.name for state in timeline}):
        for state, until in timeline.spans(name, end):
            overlap = min(until, end) - max(state.at, start)
            if overlap > 0 and (message := _waiting(state)):
                spent[name, message] = spent.get((name, message), 0.0) + overlap
    longest = sorted(spent.items(), key=lambda item: -item[1])
    return [f"{name}: {message} ({seconds:.1f} s)" for (name, message), seconds in longest if seconds >= min_s]


def _waiting(state: State) -> str:
    if state.phase != "Running":
        return ""
    return _ATTEMPT.sub(" (retrying)", state.message).strip() if state.message else "operation runs"


def _messages(state: State) -> Iterator[tuple[str, str]]:
    """Yields (object, message) of refused objects. The object of operations and error conditions is empty."""
    for name, message in state.refused:
        yield name, _without_attempt(message)
    if state.phase != "Succeeded":
        yield "", _without_attempt(state.message)
    for kind, message in state.conditions:
        if kind.endswith("Error"):
            yield "", _without_attempt(message)


def _without_attempt(message: str) -> str:
    """Returns the message without the number of the attempt, so that the messages of all attempts are equal."""
    return " ".join(_ATTEMPT.sub("", message).split())


def _description(state: State) -> str:
    problems = "; ".join(f"{kind}: {message}" for kind, message in state.conditions)
    return f"{state}; {problems}" if problems else str(state)


def _created(timeline: Timeline) -> Iterator[State]:
    """Yields the first state of each Application that has a wave, in the order of creation."""
    known: set[str] = set()
    for state in timeline:
        if state.name not in known:
            known.add(state.name)
            if state.wave is not None:
                yield state


def _is_before(state: State, later: State) -> bool:
    return (
        state.wave is not None and later.wave is not None and state.cluster == later.cluster and state.wave < later.wave
    )


def _was_good(timeline: Timeline, name: str, start: float, end: float) -> bool:
    return any(state.is_good and until >= start and state.at <= end for state, until in timeline.spans(name, end))
