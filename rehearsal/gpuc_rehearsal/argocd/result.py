"""The result of `gpuc rehearse --argocd` for one cluster, and its report: the Applications and the failures."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from gpuc.diagnostics.report.document import Block, Item, Span, Table, section
from gpuc_rehearsal.argocd.checks import Failure
from gpuc_rehearsal.argocd.timeline import State, Timeline
from gpuc_rehearsal.layout import Report

_HEADINGS = ("Application", "wave", "created s", "Synced s", "Healthy s", "note")
_LONGEST_CELL = 110
_NOT_IN_JSON = ("rows", "names", "began", "is_expected", "kubeconfig")


class ApplicationRow(Struct, frozen=True):
    """When an Application was created, synced and healthy, in seconds after the root Application was applied."""

    name: str
    wave: int | None
    """None for the root Application."""
    created_s: float | None
    synced_s: float | None
    """When the Application was Synced and Succeeded for the first time, or None."""
    good_s: float | None
    """When the Application was Synced, Healthy and Succeeded for the first time, or None."""
    note: str = ""
    """The last state. Empty if the Application was Synced, Healthy and Succeeded at the end."""


class SyncResult(Struct):
    """The result of `gpuc rehearse --argocd` for one cluster. The text and JSON reports show this result."""

    cluster: str
    file: str
    hub: str
    """Where Argo CD runs. Empty if Argo CD runs in this cluster."""
    names: frozenset[str]
    """Names of the compiled Applications, without the root Application."""
    began: float
    """When the root Application was applied, in seconds since the start of the watch."""
    first_sync_s: float | None = None
    """Seconds from `began` until all Applications were good (State.is_good). None if the sync was not in time."""
    failures: list[Failure] = field(default_factory=list)
    is_expected: Callable[[State], bool] = lambda state: False
    """Returns whether refusals in a state of an Application are expected, because an edit made an object invalid."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Duration of the steps by name, in the order of the run."""
    rows: tuple[ApplicationRow, ...] = ()
    regressions: int = 0
    """How often an Application was created while an Application of an earlier wave was no longer good."""
    not_rendered: Mapping[str, str] = field(default_factory=dict)
    """Reasons why Applications are not rendered, by name. The reason is always a missing chart."""
    substitutions: tuple[str, ...] = ()
    """One sentence for each simulated or replaced part."""
    not_tested: tuple[str, ...] = ()
    memory_mib: int = 0
    kubeconfig: Path = Path()

    @property
    def is_good(self) -> bool:
        return not self.failures

    @property
    def good(self) -> int:
        """The number of Applications that were at some time synced, healthy and without a failed operation."""
        return sum(row.good_s is not None for row in self.rows)


def application_rows(timeline: Timeline, began: float) -> tuple[ApplicationRow, ...]:
    """Returns a row for each Application of a timeline: first the root Application, then the others by wave and name.

    `began` is the time when the root Application was applied, in seconds since the start of the watch.
    """
    rows = [_row(timeline.of(name), began) for name in {state.name for state in timeline}]
    return tuple(sorted(rows, key=lambda row: (row.wave is not None, row.wave or 0, row.name)))


def _row(states: tuple[State, ...], began: float) -> ApplicationRow:
    first, last = states[0], states[-1]

    def since(is_reached: Callable[[State], bool]) -> float | None:
        return next((max(state.at - began, 0.0) for state in states if is_reached(state)), None)

    synced = since(lambda state: state.sync == "Synced" and state.phase == "Succeeded")
    good = since(lambda state: state.is_good)
    note = "" if last.is_good else str(last)
    return ApplicationRow(first.name, first.wave, max(first.at - began, 0.0), synced, good, note)


def summary(result: SyncResult) -> str:
    """Returns the result in one line: how many Applications are healthy, the failures, the duration and the memory."""
    first = "never" if result.first_sync_s is None else f"after {result.first_sync_s:.0f} s"
    parts = [
        f"{result.good} of {len(result.rows)} Applications were Synced and Healthy, all Applications {first}",
        f"{len(result.not_rendered)} not rendered",
        f"{len(result.failures)} failures",
        f"{sum(result.seconds.values()):.0f} s, {result.memory_mib} MiB",
    ]
    return f"{result.cluster}: {'; '.join(parts)}"


def _title(result: SyncResult) -> str:
    return f"Argo CD applies {result.cluster} ({result.file}{f', Argo CD in {result.hub}' if result.hub else ''})"


def _blocks(result: SyncResult) -> Iterator[Block]:
    yield from ("", Table([_HEADINGS, *map(_cells, result.rows)], longest=_LONGEST_CELL))
    yield from section("Failures", [_failure(failure) for failure in result.failures])
    yield from section("Not rendered", [f"{name}: {reason}" for name, reason in result.not_rendered.items()])
    if times := result.regressions:
        note = f"{times} times, a wave started while an Application of an earlier wave was no longer"
        yield from section("Notes", [f"{note} Synced and Healthy."])
    yield from section("Simulated or replaced", result.substitutions)
    yield from section("Not tested", result.not_tested)


def _failure(failure: Failure) -> Item:
    where = f"{failure.application}: {failure.object}" if failure.object else failure.application
    return Item(where, Span(failure.kind, "1;31"), f"at {failure.at:.1f} s", (failure.message,))


def _cells(row: ApplicationRow) -> tuple[str, ...]:
    wave = "root" if row.wave is None else str(row.wave)
    times = ("-" if taken is None else f"{taken:.1f}" for taken in (row.created_s, row.synced_s, row.good_s))
    return row.name, wave, *times, row.note


def _data(result: SyncResult) -> dict[str, Any]:
    counts = {"applications": len(result.rows), "good": result.good, "failures": len(result.failures)}
    lists = {"applications": [*map(asdict, result.rows)], "failures": [row._asdict() for row in result.failures]}
    data = {key: value for key, value in asdict(result).items() if key not in _NOT_IN_JSON}
    return {**data, **lists, "good": result.is_good, "counts": counts}


REPORT = Report("argocd", 3, _title, _blocks, summary, _data, lambda result: result.is_good)
