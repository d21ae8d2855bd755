"""`gpuc trace`: why a pod would be pending, before there is one: its way through the objects of a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path as File
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuc.diagnostics.finding import Mark, Path, StageError
from gpuc.diagnostics.report.console import write_message, write_stdout
from gpuc.diagnostics.report.terminal import wants_colour
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import UsageError
from gpuc.kubernetes.amounts import Amounts
from gpuc.lint.load.load_objects import load_objects
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_set import ObjectSet, dig
from gpuc.trace import ClusterIndex, PodSet, Workload, trace_workload, workload_of
from gpuc.trace.limits import container_limits
from gpuc.trace.report import Traced, render
from gpuc.trace.workload import pod_requests

if TYPE_CHECKING:
    from gpuc.cli.arguments import Parser

FORMATS = ("text", "json")
_EPILOG = """exit codes:
  0  the work gets its nodes in an empty cluster
  1  a step does not let it through, or part of the files could not be read
  2  the command line cannot be carried out
  3  gpuc itself failed

Nobody else is taken to hold quota or nodes: what fails here fails in an empty cluster too."""
_KINDS = (
    "Pod, Job, CronJob, JobSet, Deployment, StatefulSet, LeaderWorkerSet, RayJob, RayCluster, kinds of kubeflow.org"
)
_FLAVOR = ("kueue.x-k8s.io", "ResourceFlavor")
_QUEUE = ("kueue.x-k8s.io", "LocalQueue")
GPU, EFA = "nvidia.com/gpu", "vpc.amazonaws.com/efa"

Locate = Callable[[Manifest, Path], Mark | None]
"""Where a value of an object stands in a file that somebody wrote; None where nobody knows."""


class TraceOptions:
    """The options of a trace, with what holds where one is not given."""

    where: list[str]
    """A spec, the name of its cluster, or files and folders of objects."""
    file: str = ""
    """A file with workloads; empty where a pod is described by the other options."""
    queue: str = ""
    namespace: str = ""
    pool: str = ""
    """The flavor that the pod selects."""
    priority: str = ""
    gpus: int = 0
    efa: int = 0
    pods: int = 1
    cpu: str = ""
    memory: str = ""
    resource: list[str]
    """Further requests as NAME=QUANTITY."""
    format: str = "text"

    def __init__(self) -> None:
        self.resource = []


def trace_parser() -> Parser:
    """The parser of trace, whose defaults are those of TraceOptions."""
    from gpuc.cli.arguments import Parser

    parser = Parser("trace", _EPILOG)
    parser.add_argument(
        "where", nargs="*", metavar="SPEC|PATH", help="a spec, or files of objects (default: the one spec of specs/)"
    )
    parser.add_argument("-f", "--file", metavar="FILE", help="the workloads of a file: Pod, Job, JobSet and so on")
    parser.add_argument("--queue", metavar="NAME", help="the LocalQueue")
    parser.add_argument("--namespace", metavar="NAME", help="its namespace (default: the first that has the queue)")
    parser.add_argument("--pool", metavar="NAME", help="the flavor that the pod selects (default: Kueue chooses)")
    parser.add_argument("--priority", metavar="NAME", help="the WorkloadPriorityClass")
    parser.add_argument("--gpus", type=int, metavar="N", help="nvidia.com/gpu of each pod")
    parser.add_argument("--efa", type=int, metavar="N", help="EFA interfaces of each pod")
    parser.add_argument("--cpu", metavar="QUANTITY", help="default: what the namespace's LimitRange says")
    parser.add_argument("--memory", metavar="QUANTITY", help="default: what the namespace's LimitRange says")
    parser.add_argument("--resource", action="append", metavar="NAME=QUANTITY", help="a further request")
    parser.add_argument("--pods", type=int, metavar="N", help="pods that start together (default: 1)")
    parser.add_argument("--format", choices=FORMATS, help="what to print (default: text)")
    return parser


def run_trace(words: list[str]) -> int:
    """Walks the work that the words describe and returns the exit code.

    Raises:
        UsageError: for words that it does not take, for unknown queues and pools, and for files without any work.
    """
    if {"-h", "--help"} & {*words}:
        write_stdout(trace_parser().format_help())
        return 0
    options: TraceOptions = trace_parser().parse(words, TraceOptions())
    if not options.file and not options.queue:
        raise UsageError("nothing to trace: name a queue by --queue, or a file with work by -f")
    try:
        objects = _objects(options.where)
    except StageError:
        _tell_errors(options.where)
        return 1
    for sentence in objects.missing:
        write_message(sentence)
    site = ClusterIndex(ObjectSet(objects.manifests, is_complete=objects.is_complete, values=objects.values))
    works, lost = _works_of_file(site, options) if options.file else ([_described(site, options)], [])
    traced = [Traced(work, trace_workload(site, work), _asked(site, work), note) for work, note in works]
    write_stdout(render(options.format, traced, objects.locate, colour=wants_colour(sys.stdout, os.environ)))
    return int(bool(objects.missing or lost) or any(each.result.failure is not None for each in traced))


def _asked(site: ClusterIndex, work: Workload) -> dict[str, Amounts]:
    limits = container_limits(site, work.namespace)
    return {pods.name: pod_requests(pods.pod, limits) for pods in work.pod_sets}


class Objects(NamedTuple):
    """What the work is walked through."""

    manifests: list[Manifest]
    is_complete: bool
    """Whether they are all of a cluster."""
    locate: Locate
    missing: tuple[str, ...] = ()
    """What of the files could not be read, in sentences: a step may fail for want of it."""
    values: Mapping[str, Any] = MappingProxyType({})
    """Helm values by chart: those of Kueue say which kinds it manages."""


def _objects(where: list[str]) -> Objects:
    paths = [word for word in where if os.path.exists(word) and not _is_spec(word)]
    if paths and len(paths) < len(where):
        raise UsageError("a spec or files of objects, not both")
    return _of_paths(paths) if paths else _of_spec(where)


def _is_spec(word: str) -> bool:
    from gpuc.cli.specs import find_root

    try:
        return File(word).absolute().is_relative_to(find_root(File.cwd()) / "specs")
    except UsageError:
        return False


def _of_paths(paths: list[str]) -> Objects:
    loaded = load_objects(paths)
    return Objects(loaded.manifests, False, loaded.locate, tuple(loaded.unread_summary))


def _of_spec(where: list[str]) -> Objects:
    from gpuc.cli.specs import find_root, select
    from gpuc.pipeline.stages import compiled_spec
    from gpuc.source import cluster_files

    root = find_root(File.cwd())
    files = select(root, File.cwd(), where) or cluster_files(root)
    if len(files) != 1:
        raise UsageError(f"a trace is about one cluster: name one of {', '.join(File(file).stem for file in files)}")
    spec = compiled_spec(root, files[0])
    found = list(spec.synced)
    return Objects(found, True, lambda manifest, path: spec.source.locate(manifest.origin), values=spec.charts)


def _tell_errors(where: list[str]) -> None:
    """What is wrong with a spec that does not compile, as check says it."""
    from gpuc.cli.specs import find_root, select
    from gpuc.diagnostics.report import render as render_findings
    from gpuc.diagnostics.report.result import Report
    from gpuc.pipeline.pipeline import check_specs

    root = find_root(File.cwd())
    outcome = check_specs(root, select(root, File.cwd(), where), root, False, lambda step: None)
    errors = tuple(finding for finding in outcome.findings if finding.is_error)
    report = Report(errors, outcome.clusters, lines=outcome.lines)
    write_stdout(render_findings("text", report, colour=wants_colour(sys.stdout, os.environ)))


def _works_of_file(site: ClusterIndex, options: TraceOptions) -> tuple[list[tuple[Workload, str]], list[str]]:
    """The workloads of a file, each with its place, and what of the file could not be read."""
    loaded = load_objects([options.file])
    lost = list(loaded.unread_summary)
    for sentence in lost:
        write_message(sentence)
    works = [(each, work) for each in loaded.manifests if (work := workload_of(each)) is not None]
    if not works:
        raise UsageError(_without_work(options.file, loaded.manifests))
    return [_named(site, options, work, loaded.locate(each, ())) for each, work in works], lost


def _without_work(file: str, manifests: list[Manifest]) -> str:
    """What a file has instead of work."""
    if any(each.kind == "TrainJob" for each in manifests):
        return f"a TrainJob takes its pods from a runtime: trace the JobSet that it makes, not the TrainJob of {file}"
    kinds = ", ".join(sorted({each.kind for each in manifests})) or "no object that can be read"
    return f"no work whose pods gpuc knows in {file}: there is {kinds}; it knows {_KINDS}"


def _named(site: ClusterIndex, options: TraceOptions, work: Workload, mark: Mark | None) -> tuple[Workload, str]:
    """Some work under what the options say instead of its own words; where it stands, and what is taken for granted."""
    queue = options.queue or work.queue
    namespace = options.namespace or work.namespace or _first_namespace(site, queue)
    is_taken = not (options.namespace or work.namespace)
    note = f"{mark}{' (it names no namespace: the first with the queue is taken)' if is_taken else ''}"
    priority = options.priority or work.priority
    return work._replace(queue=queue, namespace=namespace, priority=priority), note


def _described(site: ClusterIndex, options: TraceOptions) -> tuple[Workload, str]:
    known = sorted({each.name for each in site.objects.of(*_QUEUE)})
    if options.queue not in known:
        there = f"there are {', '.join(known)}" if known else f"there is none in {', '.join(options.where)}"
        raise UsageError(f"no LocalQueue {options.queue}{did_you_mean(options.queue, known)}; {there}")
    if options.pods < 1:
        raise UsageError("--pods takes 1 or more")
    requests = {"cpu": options.cpu, "memory": options.memory, GPU: options.gpus, EFA: options.efa}
    asked = {name: str(value) for name, value in requests.items() if value}
    for each in options.resource:
        name, _, quantity = each.partition("=")
        if not quantity:
            raise UsageError(f"--resource {each} is not NAME=QUANTITY")
        asked[name] = quantity
    _require_quantities(asked)
    pod: dict[str, Any] = {"containers": [{"name": "work", "resources": {"requests": asked, "limits": asked}}]}
    if options.pool:
        pod["nodeSelector"] = _labels(site, options.pool)
    namespace = options.namespace or _first_namespace(site, options.queue)
    sets = (PodSet(pod, options.pods),)
    return Workload(sets, namespace, options.queue, "Job", "batch", "described", options.priority), ""


def _require_quantities(asked: dict[str, str]) -> None:
    from gpuc.kubernetes.quantity import parse_quantity

    for name, value in asked.items():
        try:
            parse_quantity(value)
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from None


def _labels(site: ClusterIndex, pool: str) -> dict[str, Any]:
    """The node labels of a flavor, as a pod selects it."""
    flavor = site.flavor(pool)
    if flavor is None:
        known = sorted(each.name for each in site.objects.of(*_FLAVOR))
        raise UsageError(f"no flavor {pool}{did_you_mean(pool, known)}; there are {', '.join(known)}")
    labels = dig(flavor.body, "spec", "nodeLabels")
    return dict(labels) if isinstance(labels, dict) else {}


def _first_namespace(site: ClusterIndex, queue: str) -> str:
    return next((each.namespace for each in site.objects.of(*_QUEUE) if each.name == queue), "")
