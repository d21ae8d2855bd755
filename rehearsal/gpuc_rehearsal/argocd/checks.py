"""The checks after Argo CD has synced the clusters. They find failures in the recorded states of Applications."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from gpuc_rehearsal.argocd.timeline import State, Timeline
from gpuc_rehearsal.client import Object, condition

BLOCKED_SECONDS = 20
"""Limit for the time that an operation waits for a deletion or a confirmation, and so blocks later syncs."""
NEXT_WAVE_SECONDS = 5
"""Argo CD waits 2 s between waves, so the health of the previous wave can be some seconds old when a wave starts."""
_REFUSED = {
    "project": re.compile(r"not permitted in project|not permitted in AppProject|is not permitted", re.IGNORECASE),
    "refused": re.compile(
        r"is invalid|failed to apply|failed to create typed patch|denied the request|\.spec\S* is not valid"
    ),
}
"""Patterns for messages of refusals, by the kind of the failure. The first kind with a match applies."""
_AWAITED = re.compile(
    r"no matches for kind|could not find the requested resource|namespaces \S+ not found|failed calling webhook"
)
"""Patterns for refusals that end when the kind, namespace or webhook of an object exists: Argo CD tries again."""
_BLOCKING = re.compile(r"waiting for (pruning confirmation|deletion)")
ATTEMPT = re.compile(r"\s*(Retrying attempt #\d+.*|\(retried \d+ times\)\.?)")


class Failure(NamedTuple):
    """A reason why `gpuc rehearse --argocd` reports a failure, for example an object that the API server refused."""

    kind: str
    """For example unfinished, pending, project, refused, out of sync, wave or blocked."""
    application: str
    object: str
    """"Kind namespace/name"; empty if the failure is about the Application itself."""
    message: str
    at: float
    """Seconds since the start of the watch."""


def unfinished(timeline: Timeline, moment: float) -> Iterator[Failure]:
    """Yields a failure for each Application that is not Synced, Healthy and Succeeded at a moment (seconds)."""
    for name, state in sorted(timeline.at(moment).items()):
        if not state.is_good:
            problems = "; ".join(f"{kind}: {message}" for kind, message in state.conditions)
            message = f"{state}; {problems}" if problems else str(state)
            yield Failure("unfinished", name, ", ".join(state.differing[:3]), message, moment)


def pending_pods(pods: Iterable[Object], at: float) -> Iterator[Failure]:
    """Yields a failure for each pod for which the scheduler found no node, with the message of the scheduler."""
    for pod in pods:
        if not pod["spec"].get("nodeName") and (message := condition(pod, "PodScheduled").get("message")):
            name = f"Pod {pod['metadata']['namespace']}/{pod['metadata']['name']}"
            yield Failure("pending", "", name, message, at)


def out_of_sync(timeline: Timeline, moment: float) -> Iterator[Failure]:
    """Yields a failure for each object that differs from Git while no sync operation of its Application runs."""
    for name, state in sorted(timeline.at(moment).items()):
        for differing in state.differing if state.phase != "Running" else ():
            yield Failure("out of sync", name, differing, "differs from Git after the sync", moment)


def refusals(states: Iterable[State]) -> list[Failure]:
    """Returns a failure for each object that the AppProject or the API server refused, without equal messages."""
    found: dict[tuple[str, str, str], Failure] = {}
    for state in states:
        if state.refused and all(_AWAITED.search(message) for _, message in state.refused):
            continue
        for name, message in _messages(state):
            kind = next((kind for kind, pattern in _REFUSED.items() if pattern.search(message)), "")
            if kind:
                found.setdefault((state.name, name, message), Failure(kind, state.name, name, message, state.at))
    with_object = {failure.application for failure in found.values() if failure.object}
    # The message of an operation repeats the messages of the objects.
    return [failure for failure in found.values() if failure.object or failure.application not in with_object]


def _messages(state: State) -> Iterator[tuple[str, str]]:
    """Yields (object, message) of refused objects.

    For messages of operations and error conditions, the object is empty. The function removes the number of the attempt
    from a message, so that the messages of all attempts are equal.
    """
    operation = [("", state.message)] if state.phase != "Succeeded" else []
    errors = [("", message) for kind, message in state.conditions if kind.endswith("Error")]
    for name, message in (*state.refused, *operation, *errors):
        yield name, " ".join(ATTEMPT.sub("", message).split())


def early_waves(timeline: Timeline) -> tuple[list[Failure], int]:
    """Returns failures and a count. A failure is an Application that was created before earlier sync waves were good.

    An Application is good if it is Synced and Healthy, and its last operation Succeeded. The Applications of the
    previous wave must be good at a time in the last NEXT_WAVE_SECONDS before the creation. The Applications of earlier
    waves must have been good at any time before the creation.

    The count says how often an Application of an earlier wave was good before, but not at the creation.
    """
    failures, regressions = [], 0
    first = {state.name: state for state in reversed(list(timeline)) if state.wave is not None}
    for later in sorted(first.values(), key=lambda state: state.at):
        present = [state for state in timeline.at(later.at).values() if state.cluster == later.cluster]
        waves = {state: state.wave for state in present if state.wave is not None and state.wave < (later.wave or 0)}
        previous = max(waves.values(), default=0)
        for state in sorted(waves, key=lambda state: (waves[state], state.name)):
            since = later.at - NEXT_WAVE_SECONDS if state.wave == previous else 0.0
            spans = timeline.spans(state.name, later.at)
            if not any(span.is_good and until >= since and span.at <= later.at for span, until in spans):
                began = f"wave {later.wave} began before wave {state.wave} was Synced and Healthy: {state}"
                failures.append(Failure("wave", later.name, f"Application {state.name}", began, later.at))
            elif not state.is_good:
                regressions += 1
    return failures, regressions


def blocked_operations(timeline: Timeline, end: float) -> Iterator[Failure]:
    """Yields a failure for each sync operation that waits too long for a deletion or for its confirmation.

    Too long means more than BLOCKED_SECONDS. Argo CD syncs no other change of the Application during the wait.
    """
    for name in sorted({state.name for state in timeline}):
        running = ((state, until) for state, until in timeline.spans(name, end) if state.phase == "Running")
        for message, group in groupby(running, lambda pair: pair[0].message):
            spans = list(group)
            start, stop = spans[0][0].at, spans[-1][1]
            if _BLOCKING.search(message) and stop - start > BLOCKED_SECONDS:
                yield Failure("blocked", name, "", f"{message}, for {stop - start:.0f} s", start)
