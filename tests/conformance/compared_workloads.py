"""Compares the verdict of `gpuc trace` with real programs for random workloads.

The real programs are the API server, Gatekeeper, Kueue, the controllers of Kubernetes, of JobSets and of Ray objects,
the scheduler and Karpenter. `python -m tests.conformance.compared_workloads --count 60 --seed 1 [CLUSTER...]`.
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.pipeline.stages import CompiledSpec, compiled_spec
from gpuc.trace import ClusterIndex, trace_workload, workload_of
from gpuc.trace.node_agents import index_of
from gpuc.trace.user_objects import unserved, why_not_traced, workload_without_pods
from gpuc_rehearsal.client import Object
from gpuc_rehearsal.plane import GARBAGE_COLLECTION
from gpuc_rehearsal.programs import Programs, find_programs
from tests.conformance.check_result import CheckResult, print_progress
from tests.conformance.compared_plane import compared_plane
from tests.conformance.compared_report import Comparison, Row, markdown
from tests.conformance.local_controllers import built_controllers
from tests.conformance.random_workloads import RAY, RandomWorkload, random_workloads
from tests.conformance.real_answers import Answer
from tests.conformance.shared_plane import compiled
from tests.conftest import ROOT
from tests.pipeline.memory import source
from tests.values import changed

LONG_COUNT, LONG_SEED, SEED = 2000, 2, 1
COUNT, CLUSTERS = 30, ("prod-use1", "infer-euw1")
"""The workloads and the example clusters of `make conformance`, which also rehearses train-usw2, but not infer-euw1."""
SHARES = {"prod-use1": 0.5, "train-usw2": 0.25, "infer-euw1": 0.25}
"""The example clusters, with their part of the workloads."""
FRAMEWORKS = ("spec", "kueue", "frameworks")
WITH_RAY = "infer-euw1"
"""The example cluster that gets the frameworks of Ray objects. prod-use1 has them by itself."""
CONTROLLERS = {"jobset": "JobSet", "kuberay": "RayJob"}
"""The random kinds that need a controller, by the option of `gpuc tools`."""
MEMORY_LIMIT = "1600MiB"
"""The memory of the API server. With the limit of a rehearsal, garbage collection takes two thirds of its CPU time."""
RECORD = ROOT / "benchmarks" / "trace.md"
_COMPONENTS = {"Karpenter": "nodes", "scheduler": "nodes"}
"""The components of real answers, by the names of `gpuc trace`."""


def cluster_index(spec: CompiledSpec) -> ClusterIndex:
    """Returns the index of a spec's objects, as `gpuc trace` reads them."""
    return index_of(spec.cluster, spec.synced, spec.charts)


def trace_answer(index: ClusterIndex, document: Object) -> Answer:
    """Returns the verdict of `gpuc trace` for a document, as `gpuc trace -f` gives it."""
    read = LoadedFiles()
    read.add("workload.yaml", json.dumps(document))
    manifest = read.manifests[0]
    if rejected := unserved(manifest):
        return Answer("no", _COMPONENTS.get(rejected.stage.value, rejected.stage.value), rejected.message)
    workload = workload_of(manifest, document, index.objects) or workload_without_pods(manifest, document)
    if workload is None:
        return Answer("not judged", "", why_not_traced(manifest) or "no workload that gpuc can trace")
    result = trace_workload(index, workload)
    message = "; ".join(step.message for step in result.steps if step.failed or step.verdict == "unknown")
    if result.verdict == "not judged":
        return Answer("not judged", result.by, message)
    if result.verdict == "admitted":
        return Answer("yes", "", message)
    return Answer("no", _COMPONENTS.get(result.by, result.by), message)


def run(
    count: int,
    seed: int = SEED,
    names: Sequence[str] = tuple(SHARES),
    progress: Callable[[str], None] = lambda line: None,
    only: str = "",
) -> Comparison:
    """Compares workloads of example clusters.

    Args:
        count: the number of workloads for all examples together.
        only: as for random_workloads.
    """
    started, rows = time.monotonic(), list[Row]()
    built = built_controllers(CONTROLLERS, progress)
    left_out = frozenset(kind for name, kind in CONTROLLERS.items() if name not in built)
    total = sum(SHARES[name] for name in names)
    for name in names:
        spec = with_ray(name) if name == WITH_RAY and "kuberay" in built else _compiled(name)
        workloads = list(random_workloads(spec.cluster, round(count * SHARES[name] / total), seed, left_out, only))
        rows += _compare(spec, workloads, built, progress)
        progress(Comparison(rows, time.monotonic() - started).summary())
    return Comparison(rows, time.monotonic() - started)


def _compiled(name: str) -> CompiledSpec:
    return compiled_spec(ROOT, f"specs/{name}.yaml", for_rehearsal=True)


def with_ray(name: str) -> CompiledSpec:
    """Returns the spec of an example with the frameworks of Ray objects."""
    tree = source(name).tree
    return compiled(changed(tree, FRAMEWORKS, [*tree["spec"]["kueue"]["frameworks"], *RAY]), name)


def _compare(
    spec: CompiledSpec,
    workloads: Sequence[RandomWorkload],
    built: Mapping[str, Programs],
    progress: Callable[[str], None],
) -> list[Row]:
    with compared_plane(spec, find_programs(), built, progress) as plane:
        real = plane.answers(workloads, progress)
    index, traced = cluster_index(spec), {}
    started = time.monotonic()
    for workload in workloads:
        try:
            traced[workload.number] = trace_answer(index, workload.document)
        except Exception as error:
            traced[workload.number] = Answer("none", "", f"gpuc fails: {type(error).__name__}: {error}")
    progress(f"{spec.cluster.name}: {len(workloads)} traces in {time.monotonic() - started:.1f} s")
    return [Row(workload, real[workload.number], traced[workload.number]) for workload in workloads]


def check(progress: Callable[[str], None]) -> CheckResult:
    """Compares a few workloads, for `make conformance`."""
    comparison = run(COUNT, names=CLUSTERS, progress=progress)
    name = "gpuc trace gives no wrong answer for random workloads"
    return CheckResult(name, "\n".join(comparison.problems()), comparison.summary())


def main(arguments: Sequence[str]) -> int:
    """Runs the comparison, and writes the report; returns 1 if the answers of `gpuc trace` are not good enough."""
    parser = argparse.ArgumentParser(prog="tests.conformance.compared_workloads")
    parser.add_argument("names", nargs="*", help="example clusters (default: all)")
    parser.add_argument("--count", type=int, default=LONG_COUNT, help="number of workloads in all clusters")
    parser.add_argument("--seed", type=int, default=LONG_SEED)
    parser.add_argument("--report", type=Path, default=RECORD, help="the file of the report")
    parser.add_argument(
        "--only", default="", help="the start of the names of mutations, of which every workload has one"
    )
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    GARBAGE_COLLECTION["GOMEMLIMIT"] = MEMORY_LIMIT
    comparison = run(given.count, given.seed, given.names or tuple(SHARES), print_progress, given.only)
    given.report.write_text(markdown(comparison), encoding="utf-8")
    for problem in comparison.problems():
        print(f"FAILED  {problem}")
    print(comparison.summary(), flush=True)
    return int(bool(comparison.problems()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
