"""Breaks of the example trees that no judge reports, planted in a running control plane: all work ends as before.

`python -m tests.conformance.unseen_breaks [CLUSTER...]`. Each round plants one break of every object that has one; a
scene that then ends in another way is played again with each break alone, and the one that it shows should be reported.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc.rehearse.apply import apply_tree
from gpuc.rehearse.client import ApiError
from gpuc.rehearse.fabric import place_static_nodes
from gpuc.rehearse.health import wait_healthy
from gpuc.rehearse.play import play
from gpuc.rehearse.scenes import Scene, all_scenes
from gpuc.rehearse.session import Rehearsal
from gpuc.rehearse.substitute import rehearsed, stand_ins
from tests.conformance.lane import Lane, lane
from tests.conformance.outcome import Check
from tests.conftest import EXAMPLES, ROOT
from tests.lint.mutations.breaks import Break
from tests.lint.mutations.unseen import UNREAD, chosen_breaks, unseen, why_unseen

EACH = 12
"""So many breaks of every kind of object and category: more than the tests have time for."""
HEALTH_SECONDS = 60
SETTLE_SECONDS = 3
"""Controllers take a moment until a change of what they read reaches their next decision."""


@dataclass
class Result:
    """What planting them in one cluster showed."""

    name: str
    breaks: int = 0
    reported: int = 0
    """By some judge: only the others are planted."""
    planted: int = 0
    rounds: int = 0
    scenes: int = 0
    unread: list[str] = field(default_factory=list)
    """Kinds of breaks in what no program of a rehearsal reads: there a rehearsal shows nothing."""
    harmful: list[str] = field(default_factory=list)
    """Breaks that the control plane refuses, or that end a scene in another way."""
    seconds: float = 0

    def check(self) -> Check:
        """For the lane."""
        note = (
            f"{self.reported} of {self.breaks} reported; {self.planted} others planted in {self.rounds} rounds of "
            f"{self.scenes} scenes, {self.seconds:.0f} s; "
            f"{len(self.unread)} in what no program here reads: {', '.join(sorted(set(self.unread)))}"
        )
        return Check(f"breaks of {self.name} that no judge reports", "\n".join(self.harmful), note)


def run(name: str, progress: Callable[[str], None]) -> Result:
    """Plants every unseen break of a cluster that some program reads."""
    started, spec, result = time.monotonic(), compiled_spec(ROOT, f"specs/{name}.yaml"), Result(name)
    synced = {id(each) for each in spec.synced}
    chosen = chosen_breaks(spec, EACH)
    missed = unseen(chosen, spec)
    result.breaks, result.reported = len(chosen), len(chosen) - len(missed)
    result.harmful += [f"{each}: nobody says why no judge sees it" for each in missed if not why_unseen(each)]
    found = [each for each in missed if id(each.manifest) in synced]
    result.unread = [each.manifest.kind for each in found if each.manifest.kind in UNREAD]
    planned = list(rounds([each for each in found if each.manifest.kind not in UNREAD]))
    result.planted, result.rounds = sum(map(len, planned)), len(planned)
    if planned:
        with lane(spec, progress) as kept:
            _Planter(kept, spec, result, progress).play_all(planned)
    result.seconds = time.monotonic() - started
    return result


def rounds(found: Sequence[Break]) -> Iterator[list[Break]]:
    """The breaks, one of each object at a time."""
    by_object: dict[int, list[Break]] = {}
    for each in found:
        by_object.setdefault(id(each.manifest), []).append(each)
    while by_object:
        yield [waiting.pop(0) for waiting in by_object.values()]
        by_object = {key: waiting for key, waiting in by_object.items() if waiting}


class _Planter:
    """Breaks an applied tree, plays, and mends it."""

    def __init__(self, kept: Lane, spec: CompiledSpec, result: Result, progress: Callable[[str], None]) -> None:
        self._lane, self._spec, self._result, self._progress = kept, spec, result, progress
        self._rehearsal = Rehearsal(spec, kept.client)
        self._scenes = list(all_scenes(spec.cluster))

    def play_all(self, planned: Sequence[list[Break]]) -> None:
        """Every round after the other, on the whole tree."""
        applied = apply_tree(self._lane.client, self._spec.synced, stand_ins(self._spec.cluster), lambda line: None)
        lacking = place_static_nodes(self._lane.client, self._spec.cluster, HEALTH_SECONDS * 3)
        self._result.harmful += [f"unbroken: {each}" for each in (*applied.refusals, *applied.sick, *lacking)]
        self._result.scenes = len(self._scenes)
        for number, breaks in enumerate(planned, 1):
            different = self._played(breaks, self._scenes)
            self._progress(f"round {number}: {len(breaks)} breaks, {len(different)} scenes different")
            # A machine that is busy ends a scene late: what a break ends otherwise, it ends otherwise twice.
            self._blame(breaks, self._played(breaks, list(different.values())) if different else {})

    def _blame(self, breaks: Sequence[Break], different: dict[str, Scene]) -> None:
        """Each break alone, in the scenes that all of them together ended in another way."""
        told = len(self._result.harmful)
        for each in breaks if different else ():
            for words in self._played([each], list(different.values())):
                self._result.harmful.append(f"{each}: {words}")
        if different and len(self._result.harmful) == told:
            self._result.harmful += [f"some of {len(breaks)} breaks together: {words}" for words in different]

    def _played(self, breaks: Sequence[Break], scenes: Sequence[Scene]) -> dict[str, Scene]:
        """Scenes that end in another way with breaks in the tree, by what was seen."""
        taken = [each for each in breaks if self._plant(each)]
        time.sleep(SETTLE_SECONDS)
        try:
            played = play(self._rehearsal, scenes, lambda each: None)
        finally:
            self._mend(taken)
        return {
            f"{each.scene.family}/{each.scene.name}: expected {each.scene.expected.verdict}, saw {each.seen.verdict} "
            f"{each.seen.by} {each.seen.words}": each.scene
            for each in played
            if not each.agrees
        }

    def _plant(self, each: Break) -> bool:
        whole = rehearsed(each.manifest)
        try:
            if each.changed is None:
                self._lane.remove(whole)
                self._lane.wait_gone([whole])
            else:
                self._lane.client.apply(rehearsed(each.changed))
        except ApiError as error:
            self._result.harmful.append(f"{each}: refused: {error}")
            return False
        return True

    def _mend(self, taken: Sequence[Break]) -> None:
        for each in taken:
            self._lane.client.apply(rehearsed(each.manifest))
        if sick := wait_healthy(self._lane.client, self._spec.synced, HEALTH_SECONDS):
            raise AssertionError(f"not mended: {'; '.join(map(str, sick))}")


def main() -> int:
    """Runs from the command line; 1 where a break makes a difference that no judge reports."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    failed = False
    for name in sys.argv[1:] or EXAMPLES:
        check = run(name, lambda line: print(line, flush=True)).check()
        failed = failed or bool(check.problem)
        print(f"{check.name}: {check.note}\n{check.problem}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
