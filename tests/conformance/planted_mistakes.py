"""Makes every mistake of the table in a rehearsed cluster and checks that the rehearsal reports it.

`python -m tests.conformance.planted_mistakes [PITFALL...]`. Without the mistakes, the same test
cases must pass, before and afterwards.
"""

import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from msgspec.structs import replace

from gpuc.kubernetes.argocd import WAVE
from gpuc.manifest.manifest import Manifest
from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc_rehearsal.apply import apply_objects
from gpuc_rehearsal.client import ApiError
from gpuc_rehearsal.context import RehearsalContext, Timeouts
from gpuc_rehearsal.health import wait_healthy
from gpuc_rehearsal.runner import run_cases
from gpuc_rehearsal.substitute import replacement_objects, simulated_document
from gpuc_rehearsal.suites import Case, CaseResult, all_cases
from tests.conformance.check_result import CheckResult, print_progress, report
from tests.conformance.mistakes import MISTAKES, NOT_DETECTED, Mistake
from tests.conformance.object_edits import Documents, Key
from tests.conformance.shared_plane import SharedControlPlane, shared_control_plane
from tests.conftest import ROOT

EXAMPLE = "specs/prod-use1.yaml"
RETRY_SECONDS = 12
"""Controllers notice a change with a delay, so a test case that still passes is repeated for this long."""
TIMEOUTS = Timeouts(admission_s=20, node_s=40, completion_s=30, removal_s=60)
"""A mistake shows when a state never comes, so every limit is spent once."""
HEALTH_SECONDS = 20


@dataclass
class Result:
    """The result of a run."""

    problems: dict[str, str] = field(default_factory=dict)
    """By mistake: why the rehearsal did not report it as expected; empty if it did."""
    failures_without_mistake: list[str] = field(default_factory=list)
    """Failures with the unchanged objects, before and after the mistakes."""
    seconds: float = 0

    def summary(self) -> str:
        """The result in one line."""
        detected = sum(not problem for problem in self.problems.values())
        return f"{detected} of {len(self.problems)} mistakes detected, in {self.seconds:.0f} s"

    def checks(self) -> Iterator[CheckResult]:
        """The results for `make conformance`."""
        failures = "\n".join(self.failures_without_mistake)
        yield CheckResult("without mistakes, prod-use1 passes the test cases of all mistakes", failures, self.summary())
        for name, problem in self.problems.items():
            yield CheckResult(f"the rehearsal of prod-use1 detects the mistake {name}", problem)


def run(mistakes: Sequence[Mistake] = MISTAKES, progress: Callable[[str], None] = lambda line: None) -> Result:
    """Makes mistakes in the production example, one after another."""
    started, result = time.monotonic(), Result()
    spec = compiled_spec(ROOT, EXAMPLE)
    with shared_control_plane(spec, progress) as plane:
        applied = apply_objects(plane.client, spec.synced, replacement_objects(spec.cluster), lambda line: None)
        problems = [*applied.refusals, *applied.unhealthy]
        result.failures_without_mistake += [f"before the mistakes: {problem}" for problem in problems]
        planter = _Planter(plane, spec)
        result.failures_without_mistake += planter.failures_without_mistake(mistakes)
        failures = "; ".join(result.failures_without_mistake) or "all test cases passed"
        progress(f"without mistakes: {failures}, {time.monotonic() - started:.0f} s")
        for mistake in mistakes:
            begun = time.monotonic()
            name, problem = f"{mistake.pitfall}, {mistake.title}", planter.plant(mistake)
            result.problems[name] = problem
            progress(f"{'NOT DETECTED' if problem else 'detected'} {name} ({time.monotonic() - begun:.0f} s) {problem}")
        afterwards = planter.failures_without_mistake(mistakes)
        result.failures_without_mistake += [f"after the mistakes: {failure}" for failure in afterwards]
    result.seconds = time.monotonic() - started
    return result


class _Planter:
    """Makes a mistake in applied objects, checks the rehearsal, and restores the objects."""

    def __init__(self, plane: SharedControlPlane, spec: CompiledSpec) -> None:
        self._plane, self._client = plane, plane.client
        self._spec = spec
        self._rehearsal = RehearsalContext(spec, plane.client, TIMEOUTS)
        self._settings = plane.settings
        self._manifests = {(manifest.kind, manifest.namespace, manifest.name): manifest for manifest in spec.synced}
        self._original: Documents = {key: simulated_document(manifest) for key, manifest in self._manifests.items()}
        suites = {mistake.step for mistake in MISTAKES} - {"apply", "health"}
        self._cases = {suite: list(all_cases(spec, [suite])) for suite in sorted(suites)}

    def failures_without_mistake(self, mistakes: Iterable[Mistake]) -> list[str]:
        """Failures of the mistakes' test cases with the unchanged objects."""
        cases = {id(case): case for mistake in mistakes if mistake.case for case in [self._case(mistake)]}
        results = run_cases(self._rehearsal, cases.values(), lambda result: None)
        return [_described(result) for result in results if not result.passed]

    def plant(self, mistake: Mistake) -> str:
        """Makes a mistake; returns why the rehearsal did not report it as expected, or an empty string."""
        if mistake.settings is not None:
            return self._with_settings(mistake)
        if mistake.edit is None:
            return self._in_wrong_order(mistake)
        edited = deepcopy(self._original)
        mistake.edit(edited)
        changed = [key for key in edited if edited[key] != self._original.get(key)]
        removed = [key for key in self._original if key not in edited]
        try:
            return self._check(mistake, edited, changed, removed)
        finally:
            self._restore(edited, changed)

    def _check(self, mistake: Mistake, edited: Documents, changed: Sequence[Key], removed: Sequence[Key]) -> str:
        for key in removed:
            self._client.delete_object(self._original[key])
        try:
            for key in changed:
                self._client.apply(edited[key])
        except ApiError as error:
            is_expected = mistake.step == "apply" and mistake.message in str(error)
            return "" if is_expected else f"the API server refused the object: {error}"
        if mistake.step == "apply":
            return "the API server accepted the object"
        return self._check_health(mistake, changed) if mistake.step == "health" else self._check_case(mistake)

    def _check_health(self, mistake: Mistake, changed: Sequence[Key]) -> str:
        """Checks the health of the changed objects and of all ClusterQueues."""
        queues = [manifest for manifest in self._spec.synced if manifest.kind == "ClusterQueue"]
        watched = [self._manifests[key] for key in changed if key in self._manifests]
        deadline = time.monotonic() + RETRY_SECONDS
        while time.monotonic() < deadline:
            unhealthy = wait_healthy(self._client, [*watched, *queues], 2)
            if any(mistake.message in problem.message for problem in unhealthy):
                return ""
        return "; ".join(map(str, unhealthy)) if unhealthy else "all objects are healthy"

    def _check_case(self, mistake: Mistake) -> str:
        """Checks that the test case fails with the expected component and message."""
        deadline = time.monotonic() + RETRY_SECONDS
        while True:
            (result,) = run_cases(self._rehearsal, [self._case(mistake)], lambda result: None)
            actual = result.actual
            if not result.passed:
                is_expected = (
                    actual.by == mistake.component
                    and mistake.message in actual.message
                    and mistake.verdict in ("", actual.verdict)
                ) or (mistake.sooner and mistake.sooner in actual.message)
                return "" if is_expected else _described(result)
            if time.monotonic() > deadline:
                return f"the test case {result.case.name} passed"
            time.sleep(0.5)

    def _with_settings(self, mistake: Mistake) -> str:
        assert mistake.settings is not None
        self._plane.restart(mistake.settings(self._settings))
        try:
            return self._check_case(mistake)
        finally:
            self._plane.restart(self._settings)

    def _in_wrong_order(self, mistake: Mistake) -> str:
        """Applies a ConstraintTemplate and its constraints again, with the sync waves of their Applications swapped."""
        kind = mistake.message
        policy = [manifest for manifest in self._spec.synced if manifest.name == kind.lower() or manifest.kind == kind]
        applications = {
            manifest.name: manifest
            for manifest in self._spec.synced
            if manifest.name.endswith(("policies-templates", "policies-constraints"))
        }
        early, late = sorted(applications.values(), key=lambda manifest: int(manifest.annotations[WAVE]))
        swapped = [_at_wave(early, late.annotations[WAVE]), _at_wave(late, early.annotations[WAVE])]
        for manifest in sorted(policy, key=lambda manifest: manifest.kind == "ConstraintTemplate"):
            self._client.delete_object(simulated_document(manifest))
        templates = [manifest for manifest in policy if manifest.kind == "ConstraintTemplate"]
        self._plane.wait_removed([simulated_document(manifest) for manifest in templates])
        self._rehearsal.until("its kind is gone", lambda: not self._is_served(policy), HEALTH_SECONDS)
        applied = apply_objects(self._client, [*swapped, *policy], [], lambda line: None)
        restored = apply_objects(self._client, [early, late, *policy], [], lambda line: None)
        errors = [refusal.message for refusal in applied.refusals]
        if restored.refusals or restored.unhealthy:
            return f"the policy could not be restored: {restored.refusals} {restored.unhealthy}"
        return "" if any(kind.lower() in error.lower() for error in errors) else f"errors of the API server: {errors}"

    def _is_served(self, policy: Iterable[Manifest]) -> bool:
        """Returns whether the API server still serves the kind of the constraints."""
        kinds = {(manifest.api, manifest.kind) for manifest in policy if manifest.kind != "ConstraintTemplate"}
        for api, kind in kinds:
            try:
                self._client.list_all(api, kind)
            except ApiError:
                continue
            return True
        for api, _ in kinds:
            self._client._resources.pop(api, None)
        return False

    def _restore(self, edited: Documents, changed: Sequence[Key]) -> None:
        for key in changed:
            if key in self._original:
                self._client.apply(self._original[key])
        removed = [key for key in self._original if key not in edited]
        for key in removed:
            self._client.apply(self._original[key])
        for key in changed:
            if key not in self._original:
                self._client.delete_object(edited[key])
        restored = [self._manifests[key] for key in (*changed, *removed) if key in self._manifests]
        queues = [manifest for manifest in self._spec.synced if manifest.kind in ("ClusterQueue", "LocalQueue")]
        if unhealthy := wait_healthy(self._client, [*restored, *queues], HEALTH_SECONDS):
            raise AssertionError(f"unhealthy after the mistake was undone: {'; '.join(map(str, unhealthy))}")

    def _case(self, mistake: Mistake) -> Case:
        return next(case for case in self._cases[mistake.step] if mistake.must_fail(case))


def _at_wave(application: Manifest, wave: str) -> Manifest:
    return replace(application, annotations={**application.annotations, WAVE: wave})


def _described(result: CaseResult) -> str:
    actual = result.actual
    outcome = " ".join(filter(None, (actual.verdict, actual.by, actual.flavor, actual.message)))
    return f"test case {result.case.suite} {result.case.name}: actual outcome: {outcome}"


def main() -> int:
    """Runs the mistakes of the given pitfalls, or all; returns 1 if the rehearsal missed a mistake."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    chosen = [mistake for mistake in MISTAKES if not sys.argv[1:] or mistake.pitfall in sys.argv[1:]]
    result = run(chosen, print_progress)
    for pitfalls, reason in NOT_DETECTED.items():
        print(f"a rehearsal cannot show {pitfalls}: {reason}")
    return report(result.checks())


if __name__ == "__main__":
    sys.exit(main())
