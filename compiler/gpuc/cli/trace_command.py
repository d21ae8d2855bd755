"""`gpuc trace`: predicts from the objects of a cluster whether the pods of a workload can be scheduled."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path as File
from typing import Any, NamedTuple

from msgspec.structs import replace

from gpuc.admission.validation import validation_errors
from gpuc.cli.objects import objects_in
from gpuc.cli.reports import errors_of
from gpuc.cli.specs import current_catalog, find_root, is_in_specs, only_spec, select
from gpuc.diagnostics.finding import Mark, Path, StageError
from gpuc.diagnostics.report.console import print_document, write_message, write_stdout
from gpuc.diagnostics.spelling import did_you_mean
from gpuc.diagnostics.usage import UsageError
from gpuc.kubernetes.kueue import GROUP
from gpuc.kubernetes.quantity import parse_quantity
from gpuc.lint.load.load_objects import LoadedObjects, load_objects
from gpuc.manifest.manifest import Locate, Manifest
from gpuc.model.names import EFA, GPU
from gpuc.objects.object_set import ObjectSet, group
from gpuc.parts.workload_kinds import workload_kind, workload_kinds
from gpuc.trace import ClusterIndex, Stage, Step, Workload, trace_workload, workload_of
from gpuc.trace.described import described_workload
from gpuc.trace.node_agents import index_of
from gpuc.trace.report import Traced, blocks, document
from gpuc.trace.user_objects import unserved, why_not_traced, with_replicas_of_autoscalers, workload_without_pods

_NOT_JUDGED = 4
"""The exit code if no step fails, but a step could not be judged."""
_QUEUE = (GROUP, "LocalQueue")
_GLOBAL_KINDS = ("PersistentVolume", "PriorityClass", "StorageClass")
_REFERENCED_KINDS = ("ConfigMap", "PersistentVolumeClaim", "Secret", "ServiceAccount", *_GLOBAL_KINDS)
"""The kinds of objects that pods refer to, and that people write into the file of a workload."""

Place = Callable[[Path], Mark | None]
"""Returns the position of a field of a workload in the user's file; None if the position is unknown."""


class TraceOptions(NamedTuple):
    """The options of `gpuc trace`: the cluster, and a file with workloads or the requests of a pod."""

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
    resource: Sequence[str] = ()
    """Requests of other resources as NAME=QUANTITY."""


def run_trace(form: str = "text", **described: Any) -> int:
    """Runs `gpuc trace` for one or several workloads, prints the report, and returns the exit code.

    Args:
        described: the fields of TraceOptions.

    Raises:
        UsageError: for unknown LocalQueues or ResourceFlavors, and files without workloads.
    """
    options = TraceOptions(**described)
    if not options.file and not options.queue:
        raise UsageError("no workload: give a LocalQueue with --queue, or a file with workloads with -f")
    try:
        objects = _objects(options.inputs)
    except StageError:
        root = find_root(File.cwd())
        return errors_of(root, select(root, File.cwd(), options.inputs))
    index = objects.cluster
    unread: list[str] = []
    if options.file:
        loaded = load_objects([options.file])
        workloads, unread = _read_workloads(index, options, loaded)
        index = _with_objects_of_file(index, loaded, {workload.namespace for workload, _, _ in workloads})
    else:
        workloads = [_workload_of_options(index, options)]
    traced = [
        Traced(workload, trace_workload(index, workload), note, position) for workload, note, position in workloads
    ]
    if form == "json":
        write_stdout(document(traced, objects.locate))
    else:
        print_document(blocks(traced, objects.locate))
    verdicts = {trace.result.verdict for trace in traced}
    if verdicts & {"refused", "pending"}:
        return 1
    return _NOT_JUDGED if objects.unread or unread or "not judged" in verdicts else 0


class Objects(NamedTuple):
    """The objects of the cluster in which `gpuc trace` schedules a workload."""

    cluster: ClusterIndex
    locate: Locate
    unread: tuple[str, ...] = ()
    """A sentence for each part of the files that gpuc could not read. A step may fail because of such a part."""


def _objects(inputs: list[str]) -> Objects:
    paths = [argument for argument in inputs if os.path.exists(argument) and not is_in_specs(argument)]
    if paths and len(paths) < len(inputs):
        raise UsageError("give a spec or manifests, not both")
    if paths:
        loaded = objects_in(paths)
        objects = ObjectSet(loaded.manifests, is_complete=False, catalog=current_catalog())
        return Objects(ClusterIndex(objects), loaded.locate, tuple(loaded.unread_summary))
    from gpuc.pipeline.stages import compiled_spec

    spec = compiled_spec(*only_spec(inputs, "trace"))
    return Objects(index_of(spec.cluster, spec.synced, spec.charts), spec.locate)


_Read = tuple[Workload, str, Place]
"""A workload, a note with its position, and a function that returns the position of a field."""


def _read_workloads(index: ClusterIndex, options: TraceOptions, loaded: LoadedObjects) -> tuple[list[_Read], list[str]]:
    """Returns the workloads in a file, and a sentence for each part that gpuc could not read.

    Raises:
        UsageError: when the file has no workload.
    """
    unread = list(loaded.unread_summary)
    known = []
    for manifest in loaded.manifests:
        if read := _with_options(index, options, loaded, manifest):
            known.append(read)
        elif reason := why_not_traced(manifest):
            unread.append(f"{loaded.locate(manifest, ())}: {manifest} is not traced: {reason}")
            unread += _refusals(loaded, manifest)
    for sentence in unread:
        write_message(sentence)
    if not known:
        found = {(manifest.kind, group(manifest)) for manifest in loaded.manifests}
        names = [f"{kind} of {api_group}" if "." in api_group else kind for kind, api_group in sorted(found)]
        kinds = ", ".join(names) or "no object that can be read"
        traced = ", ".join(sorted(kind.kind for kind in workload_kinds() if kind.is_traced or kind.traits.resolved))
        raise UsageError(f"no workload in {options.file}: it contains {kinds}; gpuc trace supports {traced}")
    return known, unread


def _refusals(loaded: LoadedObjects, manifest: Manifest) -> Iterator[str]:
    """Yields a sentence for each field for which the API server or a webhook refuses an object that is not traced."""
    for error in validation_errors(loaded.document(manifest)):
        if error.outcome == "denied":
            yield f"{loaded.locate(manifest, error.field)}: the {error.check} refuses {manifest}: {error.message}"


def _with_objects_of_file(index: ClusterIndex, loaded: LoadedObjects, namespaces: set[str]) -> ClusterIndex:
    """Returns the index with the objects of the workloads' file that pods refer to.

    The objects are assumed to exist when the pods are created. gpuc does not judge their own creation.

    Args:
        namespaces: the namespaces of the workloads, for objects without a namespace.
    """
    added = [
        replace(manifest, namespace=namespace)
        for manifest in loaded.manifests
        if manifest.kind in _REFERENCED_KINDS
        for namespace in ([manifest.namespace] if manifest.namespace or manifest.kind in _GLOBAL_KINDS else namespaces)
    ]
    return ClusterIndex(index.objects.with_objects(added), accounts=index.accounts) if added else index


def _with_options(
    index: ClusterIndex, options: TraceOptions, loaded: LoadedObjects, manifest: Manifest
) -> _Read | None:
    """Returns a workload with the queue, namespace and priority of the options; None for another object."""
    document = loaded.document(manifest)
    has_runtime = workload_kind(group(manifest), manifest.kind).traits.resolved is not None
    runtimes = [row for row in loaded.manifests if workload_kind(group(row), row.kind).is_runtime and has_runtime]
    objects = index.objects.with_objects(runtimes) if runtimes else index.objects
    placed = replace(manifest, namespace=manifest.namespace or options.namespace) if has_runtime else manifest
    workload = workload_of(placed, document, objects) or workload_without_pods(manifest, document)
    if workload is None:
        return None
    queue = options.queue or workload.queue
    namespace = workload.namespace or options.namespace or _first_namespace(index, queue)
    is_assumed = not (options.namespace or workload.namespace)
    mark = loaded.locate(manifest, ())
    note = f"{mark}{' (it has no namespace; assumed: the first namespace with the queue)' if is_assumed else ''}"
    scaled, autoscaler = with_replicas_of_autoscalers(
        manifest, {"", namespace}, (*loaded.manifests, *index.objects.manifests)
    )
    workload = workload if has_runtime else workload_of(scaled, document) or workload
    rejected = unserved(manifest) or _conflict(options, workload)
    chosen = workload._replace(autoscaler=autoscaler, rejected=rejected).with_labels(
        namespace, queue, options.priority or workload.priority
    )
    return chosen, note, lambda path: loaded.locate(manifest, path)


def _conflict(options: TraceOptions, workload: Workload) -> Step | None:
    """Returns the failed step for a workload in another namespace than the option; None without a contradiction.

    Source: k8s.io/cli-runtime v0.35 pkg/resource/visitor.go, RequireNamespace
    """
    if not options.namespace or workload.namespace in ("", options.namespace):
        return None
    message = (
        f"kubectl refuses the object: its namespace {workload.namespace} is not the namespace {options.namespace} of"
        " the option --namespace"
    )
    fix = f"write --namespace {workload.namespace}, or remove the namespace from the object"
    return Step(Stage.API, "failed", message, fix=fix, field=("metadata", "namespace"))


def _workload_of_options(index: ClusterIndex, options: TraceOptions) -> _Read:
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
    for name, quantity in requests.items():
        try:
            parse_quantity(quantity)
        except ValueError as error:
            raise UsageError(f"{name}: {error}") from None
    namespace = options.namespace or _first_namespace(index, options.queue)
    if options.pool and options.pool not in index.flavors:
        flavors = sorted(index.flavors)
        suggestion = did_you_mean(options.pool, flavors)
        raise UsageError(f"no flavor {options.pool}{suggestion}; existing: {', '.join(flavors)}")
    node_labels = index.flavors[options.pool].labels if options.pool else {}
    workload = described_workload(
        index, namespace, options.queue, requests, node_labels, pods=options.pods, priority=options.priority
    )
    return workload, "", lambda path: None


def _first_namespace(index: ClusterIndex, queue: str) -> str:
    names = (local_queue.namespace for local_queue in index.objects.of(*_QUEUE) if local_queue.name == queue)
    return next(names, "")
