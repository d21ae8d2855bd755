"""`gpuc trace`: predicts whether a workload would be scheduled, from the objects of a cluster."""

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
from gpuc.trace.node_agents import node_agents
from gpuc.trace.report import Traced, render
from gpuc.trace.workload import pod_requests

if TYPE_CHECKING:
    from gpuc.cli.arguments import Parser

FORMATS = ("text", "json")
_EPILOG = """exit codes:
  0  the workload would be scheduled in an empty cluster
  1  a step fails, or gpuc could not read a part of the files
  2  the command line is wrong
  3  gpuc itself failed

The trace assumes that no other workload uses quota or nodes. So a workload that fails here would fail in every cluster
with these objects, but a workload that passes may still have to wait for others."""
_KINDS = (
    "Pod, Job, CronJob, JobSet, Deployment, StatefulSet, LeaderWorkerSet, RayJob, RayCluster, kinds of kubeflow.org"
)
_FLAVOR = ("kueue.x-k8s.io", "ResourceFlavor")
_QUEUE = ("kueue.x-k8s.io", "LocalQueue")
GPU, EFA = "nvidia.com/gpu", "vpc.amazonaws.com/efa"

Locate = Callable[[Manifest, Path], Mark | None]
"""Returns the position of a value of an object in the user's files; None if the position is unknown."""


class TraceOptions:
    """The options of trace, with their defaults."""

    inputs: list[str]
    """A spec, the name of a cluster, or files and folders of manifests."""
    file: str = ""
    """A file with workloads; empty if the other options describe a pod."""
    queue: str = ""
    namespace: str = ""
    pool: str = ""
    """The ResourceFlavor whose node labels the pod selects."""
    priority: str = ""
    gpus: int = 0
    efa: int = 0
    pods: int = 1
    cpu: str = ""
    memory: str = ""
    resource: list[str]
    """Requests of other resources as NAME=QUANTITY."""
    format: str = "text"

    def __init__(self) -> None:
        self.resource = []


def trace_parser() -> Parser:
    """Returns the parser of trace. `TraceOptions` has the defaults."""
    from gpuc.cli.arguments import Parser

    parser = Parser("trace", _EPILOG)
    parser.add_argument(
        "inputs", nargs="*", metavar="SPEC|PATH", help="a spec, or manifests (default: the only spec in specs/)"
    )
    parser.add_argument(
        "-f", "--file", metavar="FILE", help="trace the workloads in this file: Pod, Job, JobSet and so on"
    )
    parser.add_argument("--queue", metavar="NAME", help="the LocalQueue of the workload")
    parser.add_argument("--namespace", metavar="NAME", help="the namespace (default: the first with the LocalQueue)")
    parser.add_argument("--pool", metavar="NAME", help="the flavor that the pods select (default: Kueue chooses)")
    parser.add_argument("--priority", metavar="NAME", help="the WorkloadPriorityClass of the workload")
    parser.add_argument("--gpus", type=int, metavar="N", help="the nvidia.com/gpu request of each pod")
    parser.add_argument("--efa", type=int, metavar="N", help="the number of EFA interfaces of each pod")
    parser.add_argument("--cpu", metavar="QUANTITY", help="the CPU request of each pod (default: from the LimitRange)")
    parser.add_argument(
        "--memory", metavar="QUANTITY", help="the memory request of each pod (default: from the LimitRange)"
    )
    parser.add_argument(
        "--resource", action="append", metavar="NAME=QUANTITY", help="the request of another resource; may be repeated"
    )
    parser.add_argument("--pods", type=int, metavar="N", help="the number of pods (default: 1)")
    parser.add_argument("--format", choices=FORMATS, help="the format of the report (default: text)")
    return parser


def run_trace(arguments: list[str]) -> int:
    """Traces the workloads that the arguments describe and returns the exit code.

    Raises:
        UsageError: for wrong arguments, unknown LocalQueues or ResourceFlavors, and files without workloads.
    """
    if {"-h", "--help"} & {*arguments}:
        write_stdout(trace_parser().format_help())
        return 0
    options: TraceOptions = trace_parser().parse(arguments, TraceOptions())
    if not options.file and not options.queue:
        raise UsageError("no workload: give a LocalQueue with --queue, or a file with workloads with -f")
    try:
        objects = _objects(options.inputs)
    except StageError:
        _print_errors(options.inputs)
        return 1
    for sentence in objects.unread:
        write_message(sentence)
    index = ClusterIndex(ObjectSet(objects.manifests, is_complete=objects.is_complete, values=objects.values))
    workloads, unread = (
        _read_workloads(index, options) if options.file else ([_workload_of_options(index, options)], [])
    )
    traced = [
        Traced(workload, trace_workload(index, workload), _requests_by_pod_set(index, workload), note)
        for workload, note in workloads
    ]
    write_stdout(render(options.format, traced, objects.locate, colour=wants_colour(sys.stdout, os.environ)))
    return int(bool(objects.unread or unread) or any(trace.result.failure is not None for trace in traced))


def _requests_by_pod_set(index: ClusterIndex, workload: Workload) -> dict[str, Amounts]:
    """Returns the requests of one pod of each pod set, with the defaults of the LimitRanges of the namespace."""
    limits = container_limits(index, workload.namespace)
    return {pods.name: pod_requests(pods.pod, limits) for pods in workload.pod_sets}


class Objects(NamedTuple):
    """The objects of the cluster for which a workload is traced."""

    manifests: list[Manifest]
    is_complete: bool
    """Whether the object set contains all objects of the cluster."""
    locate: Locate
    unread: tuple[str, ...] = ()
    """A sentence for each part of the files that gpuc could not read. A step may fail because of such a part."""
    values: Mapping[str, Any] = MappingProxyType({})
    """Helm values by component. The values of Kueue contain the kinds that Kueue manages."""


def _objects(inputs: list[str]) -> Objects:
    paths = [argument for argument in inputs if os.path.exists(argument) and not _is_spec(argument)]
    if paths and len(paths) < len(inputs):
        raise UsageError("give a spec or manifests, not both")
    return _objects_in_files(paths) if paths else _objects_of_spec(inputs)


def _is_spec(argument: str) -> bool:
    from gpuc.cli.specs import find_root

    try:
        return File(argument).absolute().is_relative_to(find_root(File.cwd()) / "specs")
    except UsageError:
        return False


def _objects_in_files(paths: list[str]) -> Objects:
    loaded = load_objects(paths)
    return Objects(loaded.manifests, False, loaded.locate, tuple(loaded.unread_summary))


def _objects_of_spec(inputs: list[str]) -> Objects:
    from gpuc.cli.specs import find_root, select
    from gpuc.pipeline.stages import compiled_spec
    from gpuc.source import cluster_files

    root = find_root(File.cwd())
    files = select(root, File.cwd(), inputs) or cluster_files(root)
    if len(files) != 1:
        raise UsageError(f"gpuc trace requires one cluster of {', '.join(File(file).stem for file in files)}")
    spec = compiled_spec(root, files[0])
    manifests = [*spec.synced, *node_agents(spec.cluster)]
    return Objects(manifests, True, lambda manifest, path: spec.source.locate(manifest.origin), values=spec.charts)


def _print_errors(inputs: list[str]) -> None:
    """Prints the errors of a spec that does not compile, as `gpuc check` does."""
    from gpuc.cli.specs import find_root, select
    from gpuc.diagnostics.report import render as render_findings
    from gpuc.diagnostics.report.result import Report
    from gpuc.pipeline.pipeline import check_specs

    root = find_root(File.cwd())
    outcome = check_specs(root, select(root, File.cwd(), inputs), root, False, lambda step: None)
    errors = tuple(finding for finding in outcome.findings if finding.is_error)
    report = Report(errors, outcome.clusters, lines=outcome.lines)
    write_stdout(render_findings("text", report, colour=wants_colour(sys.stdout, os.environ)))


def _read_workloads(index: ClusterIndex, options: TraceOptions) -> tuple[list[tuple[Workload, str]], list[str]]:
    """Returns the workloads in a file, each with a note, and a sentence for each part that gpuc could not read.

    Raises:
        UsageError: when the file has no workload.
    """
    loaded = load_objects([options.file])
    unread = list(loaded.unread_summary)
    for sentence in unread:
        write_message(sentence)
    workloads = [(manifest, workload) for manifest in loaded.manifests if (workload := workload_of(manifest))]
    if not workloads:
        raise UsageError(_no_workloads(options.file, loaded.manifests))
    return [
        _with_options(index, options, workload, loaded.locate(manifest, ())) for manifest, workload in workloads
    ], unread


def _no_workloads(file: str, manifests: list[Manifest]) -> str:
    """Returns the message for a file without workloads."""
    if any(manifest.kind == "TrainJob" for manifest in manifests):
        return f"{file} has a TrainJob, whose pods come from a runtime: trace the JobSet that the TrainJob creates"
    kinds = ", ".join(sorted({manifest.kind for manifest in manifests})) or "no object that can be read"
    return f"no workload in {file}: it contains {kinds}; gpuc trace supports {_KINDS}"


def _with_options(
    index: ClusterIndex, options: TraceOptions, workload: Workload, mark: Mark | None
) -> tuple[Workload, str]:
    """Returns the workload with the queue, namespace and priority of the options, and a note with its position."""
    queue = options.queue or workload.queue
    namespace = options.namespace or workload.namespace or _first_namespace(index, queue)
    is_assumed = not (options.namespace or workload.namespace)
    note = f"{mark}{' (it has no namespace; assumed: the first namespace with the queue)' if is_assumed else ''}"
    priority = options.priority or workload.priority
    return workload._replace(queue=queue, namespace=namespace, priority=priority), note


def _workload_of_options(index: ClusterIndex, options: TraceOptions) -> tuple[Workload, str]:
    """Returns the workload that the options describe, with an empty note."""
    queues = sorted({queue.name for queue in index.objects.of(*_QUEUE)})
    if options.queue not in queues:
        existing = f"existing: {', '.join(queues)}" if queues else f"{', '.join(options.inputs)} has no LocalQueue"
        raise UsageError(f"no LocalQueue {options.queue}{did_you_mean(options.queue, queues)}; {existing}")
    if options.pods < 1:
        raise UsageError("--pods must be 1 or more")
    amounts = {"cpu": options.cpu, "memory": options.memory, GPU: options.gpus, EFA: options.efa}
    requests = {name: str(amount) for name, amount in amounts.items() if amount}
    for option in options.resource:
        name, _, quantity = option.partition("=")
        if not quantity:
            raise UsageError(f"--resource {option} is not NAME=QUANTITY")
        requests[name] = quantity
    _require_quantities(requests)
    pod: dict[str, Any] = {"containers": [{"name": "work", "resources": {"requests": requests, "limits": requests}}]}
    if options.pool:
        pod["nodeSelector"] = _node_labels(index, options.pool)
    namespace = options.namespace or _first_namespace(index, options.queue)
    pod_sets = (PodSet(pod, options.pods),)
    return Workload(pod_sets, namespace, options.queue, "Job", "batch", "described", options.priority), ""


def _require_quantities(requests: dict[str, str]) -> None:
    from gpuc.kubernetes.quantity import parse_quantity

    for name, quantity in requests.items():
        try:
            parse_quantity(quantity)
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from None


def _node_labels(index: ClusterIndex, flavor_name: str) -> dict[str, Any]:
    """Returns the node labels of a ResourceFlavor, for the node selector of a pod."""
    flavor = index.flavor(flavor_name)
    if flavor is None:
        flavors = sorted(flavor.name for flavor in index.objects.of(*_FLAVOR))
        suggestion = did_you_mean(flavor_name, flavors)
        raise UsageError(f"no flavor {flavor_name}{suggestion}; existing: {', '.join(flavors)}")
    labels = dig(flavor.body, "spec", "nodeLabels")
    return dict(labels) if isinstance(labels, dict) else {}


def _first_namespace(index: ClusterIndex, queue: str) -> str:
    names = (local_queue.namespace for local_queue in index.objects.of(*_QUEUE) if local_queue.name == queue)
    return next(names, "")
