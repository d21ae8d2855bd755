"""Plants every fault of the table, one at a time, in a rehearsed cluster, and looks whether the rehearsal shows it.

`python -m tests.conformance.fault_run [PITFALL...]`. The unbroken tree passes the same checks before and after.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace

from gpuc.kubernetes.argocd import WAVE
from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc.rehearse.apply import apply_tree
from gpuc.rehearse.client import ApiError
from gpuc.rehearse.context import RehearsalContext, Timeouts
from gpuc.rehearse.health import wait_healthy
from gpuc.rehearse.runner import CaseResult, run_cases
from gpuc.rehearse.substitute import replacement_objects, simulated_document
from gpuc.rehearse.suites import Case, all_cases
from tests.conformance.breaking import Documents
from tests.conformance.faults import FAULTS, INVISIBLE, Fault
from tests.conformance.lane import Lane, lane
from tests.conformance.outcome import Check
from tests.conftest import ROOT

EXAMPLE = "specs/prod-use1.yaml"
PATIENCE_SECONDS = 12
"""Controllers see a change a moment after it: a scene that still passes is played again."""
TIMEOUTS = Timeouts(admission_s=20, node_s=40)
HEALTH_SECONDS = 20


@dataclass
class Result:
    """What became of the faults."""

    looked: dict[str, str] = field(default_factory=dict)
    """By fault why the rehearsal did not show it where it had to; empty where it did."""
    unsound: list[str] = field(default_factory=list)
    """What fails without a fault, before or after."""
    seconds: float = 0

    def summary(self) -> str:
        """In one line."""
        caught = sum(not told for told in self.looked.values())
        return f"{caught} of {len(self.looked)} faults show where their pitfall says, in {self.seconds:.0f} s"

    def checks(self) -> Iterator[Check]:
        """For the lane."""
        yield Check("the tree without faults", "\n".join(self.unsound), self.summary())
        for name, told in self.looked.items():
            yield Check(f"planted fault {name}", told)


def run(faults: Sequence[Fault] = FAULTS, progress: Callable[[str], None] = lambda line: None) -> Result:
    """Plants faults in the production example."""
    started, result = time.monotonic(), Result()
    spec = compiled_spec(ROOT, EXAMPLE)
    with lane(spec, progress) as kept:
        applied = apply_tree(kept.client, spec.synced, replacement_objects(spec.cluster), lambda line: None)
        result.unsound += [f"unbroken: {each}" for each in (*applied.refusals, *applied.unhealthy)]
        planter = _Planter(kept, spec)
        result.unsound += planter.unbroken(faults)
        progress(f"unbroken: {'; '.join(result.unsound) or 'all as expected'}, {time.monotonic() - started:.0f} s")
        for fault in faults:
            begun = time.monotonic()
            name, told = f"{fault.pitfall} {fault.what}", planter.plant(fault)
            result.looked[name] = told
            progress(f"{'MISSED' if told else 'caught'} {name} ({time.monotonic() - begun:.0f} s) {told}")
        result.unsound += [f"afterwards: {each}" for each in planter.unbroken(faults)]
    result.seconds = time.monotonic() - started
    return result


class _Planter:
    """Breaks an applied tree, looks, and mends it again."""

    def __init__(self, kept: Lane, spec: CompiledSpec) -> None:
        self._lane, self._client = kept, kept.client
        self._spec = spec
        self._rehearsal = RehearsalContext(spec, kept.client, TIMEOUTS)
        self._settings = kept.settings
        self._manifests = {(each.kind, each.namespace, each.name): each for each in spec.synced}
        self._whole: Documents = {place: simulated_document(each) for place, each in self._manifests.items()}
        families = {fault.step for fault in FAULTS} - {"apply", "health"}
        self._scenes = {family: list(all_cases(spec.cluster, [family])) for family in sorted(families)}

    def unbroken(self, faults: Iterable[Fault]) -> list[str]:
        """Scenes of the table that fail without any fault."""
        scenes = {id(scene): scene for fault in faults if fault.scene for scene in [self._scene(fault)]}
        return [
            _told(each) for each in run_cases(self._rehearsal, scenes.values(), lambda each: None) if not each.passed
        ]

    def plant(self, fault: Fault) -> str:
        """Why the rehearsal did not show a fault where it had to; empty where it did."""
        if fault.settings is not None:
            return self._with_settings(fault)
        if fault.breaks is None:
            return self._in_wrong_order(fault)
        broken = deepcopy(self._whole)
        fault.breaks(broken)
        changed = [place for place in broken if broken[place] != self._whole.get(place)]
        gone = [place for place in self._whole if place not in broken]
        try:
            return self._look(fault, broken, changed, gone)
        finally:
            self._mend(broken, changed)

    def _look(
        self,
        fault: Fault,
        broken: Documents,
        changed: Sequence[tuple[str, str, str]],
        gone: Sequence[tuple[str, str, str]],
    ) -> str:
        for place in gone:
            self._lane.remove(self._whole[place])
        try:
            for place in changed:
                self._client.apply(broken[place])
        except ApiError as error:
            return "" if fault.step == "apply" and fault.words in str(error) else f"refused at once: {error}"
        if fault.step == "apply":
            return "the API server took it"
        return self._unhealthy(fault, changed) if fault.step == "health" else self._played(fault)

    def _unhealthy(self, fault: Fault, changed: Sequence[tuple[str, str, str]]) -> str:
        """Health of what was changed, and of the queues that depend on it."""
        queues = [each for each in self._spec.synced if each.kind == "ClusterQueue"]
        watched = [self._manifests[place] for place in changed if place in self._manifests]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            sick = wait_healthy(self._client, [*watched, *queues], 2)
            if any(fault.words in each.message for each in sick):
                return ""
        return "everything is healthy" if not sick else "; ".join(map(str, sick))

    def _played(self, fault: Fault) -> str:
        """The scene fails, with the program and the words of the pitfall."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            (played,) = run_cases(self._rehearsal, [self._scene(fault)], lambda each: None)
            seen = played.actual
            if not played.passed:
                named = seen.by == fault.by and fault.words in seen.message and fault.verdict in ("", seen.verdict)
                return "" if named else _told(played)
            if time.monotonic() > deadline:
                return f"scene {played.case.name} passed"
            time.sleep(0.5)

    def _with_settings(self, fault: Fault) -> str:
        assert fault.settings is not None
        self._lane.restart(fault.settings(self._settings))
        try:
            return self._played(fault)
        finally:
            self._lane.restart(self._settings)

    def _in_wrong_order(self, fault: Fault) -> str:
        """A template and its constraints are applied anew, by the waves of Applications that were exchanged."""
        found = [each for each in self._spec.synced if each.name == fault.words.lower() or each.kind == fault.words]
        applications = {
            each.name: each
            for each in self._spec.synced
            if each.name.endswith(("policies-templates", "policies-constraints"))
        }
        early, late = sorted(applications.values(), key=lambda each: int(each.annotations[WAVE]))
        exchanged = [_at_wave(early, late.annotations[WAVE]), _at_wave(late, early.annotations[WAVE])]
        for each in sorted(found, key=lambda each: each.kind == "ConstraintTemplate"):
            self._lane.remove(simulated_document(each))
        self._lane.wait_gone([simulated_document(each) for each in found if each.kind == "ConstraintTemplate"])
        self._rehearsal.until("its kind is gone", lambda: not self._served(found), HEALTH_SECONDS)
        applied = apply_tree(self._client, [*exchanged, *found], [], lambda line: None)
        mended = apply_tree(self._client, [early, late, *found], [], lambda line: None)
        refused = [str(each.error) for each in applied.refusals]
        if mended.refusals or mended.unhealthy:
            return f"not mended: {mended.refusals} {mended.unhealthy}"
        return "" if any(fault.words.lower() in each.lower() for each in refused) else f"refused: {refused}"

    def _served(self, found: Iterable[Manifest]) -> bool:
        """Whether the API server still has the kind of a constraint."""
        kinds = {(each.api, each.kind) for each in found if each.kind != "ConstraintTemplate"}
        for api, kind in kinds:
            try:
                self._client.list_all(api, kind)
            except ApiError:
                continue
            return True
        for api, _ in kinds:
            self._client._resources.pop(api, None)
        return False

    def _mend(self, broken: Documents, changed: Sequence[tuple[str, str, str]]) -> None:
        for place in changed:
            if place not in self._whole:
                continue
            self._client.apply(self._whole[place])
        others = [place for place in self._whole if place not in broken]
        for place in others:
            self._client.apply(self._whole[place])
        for place in changed:
            if place not in self._whole:
                self._lane.remove(broken[place])
        mended = [self._manifests[place] for place in (*changed, *others) if place in self._manifests]
        queues = [each for each in self._spec.synced if each.kind in ("ClusterQueue", "LocalQueue")]
        if sick := wait_healthy(self._client, [*mended, *queues], HEALTH_SECONDS):
            raise AssertionError(f"not mended: {'; '.join(map(str, sick))}")

    def _scene(self, fault: Fault) -> Case:
        return next(scene for scene in self._scenes[fault.step] if fault.names(scene))


def _at_wave(application: Manifest, wave: str) -> Manifest:
    return replace(application, annotations={**application.annotations, WAVE: wave})


def _told(played: CaseResult) -> str:
    seen = played.actual
    return f"{played.case.suite} {played.case.name}: {seen.verdict} {seen.by} {seen.flavor} {seen.message}"


def main() -> int:
    """Runs from the command line; 1 where a fault did not show."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = [fault for fault in FAULTS if not sys.argv[1:] or fault.pitfall in sys.argv[1:]]
    result = run(chosen, lambda line: print(line, flush=True))
    for names, why in INVISIBLE.items():
        print(f"not visible here: {names}: {why}")
    print("\n".join(each.problem for each in result.checks() if each.problem))
    print(result.summary())
    return int(any(each.problem for each in result.checks()))


if __name__ == "__main__":
    sys.exit(main())
