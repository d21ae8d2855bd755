"""`gpuc trace`, compared with the model, whose results agreed with real programs in thousands of cases."""

from __future__ import annotations

from functools import cache

import pytest

from gpuc.kubernetes.amounts import quantity_text
from gpuc.model import ClusterQueue
from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc.rehearse.expectation import cluster_queues, expect
from gpuc.rehearse.outcome import Outcome, Request
from gpuc.rehearse.suites import all_cases
from gpuc.trace import ClusterIndex, Stage, TraceResult, trace_workload
from tests.conformance.differential import Case, kept_cases, random_cases
from tests.conformance.shared_plane import compiled
from tests.conftest import EXAMPLES, ROOT
from tests.trace.evaluator import site, work_for

SPECS, GANGS, SEED = 20, 12, 7
SUITES = ("smallest", "full_node", "efa", "shares", "gangs", "borrowing", "topology")
KINDS = {
    "unavailable in ClusterQueue": Stage.RESOURCES,
    "insufficient quota": Stage.QUOTA,
    "doesn't match node affinity": Stage.FLAVOR,
    "TopologyAwareScheduling": Stage.FLAVOR,
    "requested level": Stage.FLAVOR,
    'topology "': Stage.TOPOLOGY,
}
"""Stage that refuses, by Kueue's words."""


@cache
def example(name: str) -> CompiledSpec:
    return compiled_spec(ROOT, f"specs/{name}.yaml")


def difference(expected: Outcome, seen: TraceResult) -> str:
    """Returns the difference between the trace and the model; empty if they agree."""
    if seen.verdict != expected.verdict or (expected.by and seen.by != expected.by):
        return f"{seen.verdict} by {seen.by}"
    place = seen.placements.get("main")
    if expected.verdict == "refused":
        assert seen.failure is not None
        message = seen.failure.message
        stages = [stage for words, stage in KINDS.items() if words in expected.message]
        # Kueue tells of all flavors; of several reasons the model names one, which the walk tells too.
        is_only = message.removesuffix(expected.message) == ""
        if expected.message not in message or (is_only and stages and seen.failure.stage not in stages):
            return f"{seen.failure.stage}: {message}"
        return ""
    assert place is not None
    differences = [f"unknown: {step.message}" for step in seen.steps if step.verdict == "unknown"]
    if place.flavors != (expected.flavor,):
        differences.append(f"flavors {place.flavors}")
    if expected.borrowed is not None:
        borrowed = {(name, quantity_text(name, amount)) for name, amount in place.borrowed.items()}
        differences += [f"borrowed {borrowed}"] if borrowed != set(expected.borrowed) else []
    if expected.verdict == "admitted":
        where = (place.pools, set(place.instance_types), place.nodes)
        if where != ((expected.pool,), set(expected.instance_types), expected.nodes):
            differences.append(f"nodes {where}")
    return "; ".join(differences)


def disagreement(known: ClusterIndex, spec: CompiledSpec, queue: ClusterQueue, request: Request) -> str:
    expected = expect(spec.cluster, queue, request)
    seen = trace_workload(known, work_for(known, queue.name, request), admission=False)
    reason = difference(expected, seen)
    return f"{queue.name} {request}\n  expected {expected}\n  seen {reason}" if reason else ""


def test_random_work_on_random_specs_ends_as_the_model_says() -> None:
    asked, verdicts, found = 0, set(), []
    cases: list[Case] = [*kept_cases(), *random_cases(SPECS, GANGS, SEED)]
    for case in cases:
        spec = compiled(case.tree)
        known, queues = site(spec), {queue.name: queue for queue in cluster_queues(spec.cluster)}
        for name, request in case.work:
            asked += 1
            verdicts.add(expect(spec.cluster, queues[name], request).verdict)
            found += [
                f"case {case.name}, {reason}" for reason in [disagreement(known, spec, queues[name], request)] if reason
            ]
    assert asked > SPECS * GANGS
    assert verdicts == {"admitted", "refused", "pending"}
    assert not found, f"{len(found)} of {asked}\n" + "\n".join(found[:20])


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_request_of_every_scene_ends_as_the_model_says(name: str) -> None:
    spec = example(name)
    known, queues = site(spec), {queue.name: queue for queue in cluster_queues(spec.cluster)}
    scenes = [case for case in all_cases(spec.cluster, SUITES) if case.demand is not None]
    found = [
        f"{scene.suite} {scene.name}: {reason}"
        for scene in scenes
        if scene.demand is not None and (reason := disagreement(known, spec, queues[scene.queue], scene.demand))
    ]
    assert len(scenes) > 50
    assert not found, f"{len(found)} of {len(scenes)}\n" + "\n".join(found[:20])


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_scene_ends_as_it_was_rehearsed(name: str) -> None:
    """Policies included: what a scene expects is what the real control plane did."""
    spec = example(name)
    known = site(spec)
    found = []
    for scene in all_cases(spec.cluster, SUITES):
        if scene.demand is None:
            continue
        seen = trace_workload(known, work_for(known, scene.queue, scene.demand))
        expected = "admitted" if scene.expected.verdict in ("complete", "bound") else scene.expected.verdict
        if (seen.verdict, seen.by) != (expected, scene.expected.by):
            found.append(f"{scene.suite} {scene.name}: {scene.expected}\n  seen {seen.failure}")
    assert not found, f"{len(found)}\n" + "\n".join(found[:20])
