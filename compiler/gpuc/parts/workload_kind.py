"""The class WorkloadKind: what gpuc knows about one kind of objects with pods, for example about Jobs.

Each folder gpuc.workloads.<family> has a module kind.py, whose variable KINDS contains the kinds of one project. A
WorkloadKind has a value for every field, even if the value is None or empty.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from msgspec import Struct

from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.kueue import QUEUE_LABEL
from gpuc.manifest.manifest import Body, Kind

LABELS = ("metadata", "labels")
RANDOM_SUFFIX = "-xxxxx"
"""The form of the random suffix of generated names."""


class FurtherPods(NamedTuple):
    """A pod without a template in the object, which a controller creates in addition to the pods of the templates."""

    pod_set: str
    template: Any
    """The template of the pod, unvalidated."""
    field: Path
    """The field in which users can write the template. Without the field, the controller has its own template."""


class Made(NamedTuple):
    """The pods that a controller creates from a template, and the pod spec from which Kueue counts their requests."""

    pod: Any
    """The spec of a pod, with what the controller adds."""
    number: int
    queued: Any
    """The pod spec whose requests Kueue counts. Kueue counts as many of these pods as the pod set has."""


class Queueing(NamedTuple):
    """How Kueue manages the objects of a kind of workloads.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs
    """

    framework: str
    """The name of the integration: API group and singular name, or only the name for kinds of Kubernetes."""
    place: int | None
    """The place among the frameworks that a spec can name; None if a spec names the framework by another kind or not at
    all."""
    holds_pods: bool
    """Whether Kueue runs its integration of plain pods for the framework, and holds its pods with a scheduling gate.

    With this integration and manageJobsWithoutQueueName: true, Kueue gates every pod of the selected namespaces.

    Source: as above, {deployment,statefulset,leaderworkerset}, ImplicitlyEnabledFrameworkNames; pod/pod_webhook.go
    (Default)
    """
    is_pod_group: bool
    """Whether the pods are a pod group: Kueue generates the names of the pod sets."""
    is_per_replica: bool
    """Whether each replica is a workload of its own. Source: as above, statefulset/statefulset_pod_reconciler.go"""
    labels: tuple[tuple[str, ...], ...]
    """The paths of the labels with the queue name; a label of a later path replaces one of an earlier path."""


NOT_QUEUED = Queueing("", None, holds_pods=False, is_pod_group=False, is_per_replica=False, labels=(LABELS,))


def suspended(framework: str, place: int | None) -> Queueing:
    """Returns the Queueing of a kind of jobs that Kueue suspends until Kueue admits them."""
    return NOT_QUEUED._replace(framework=framework, place=place)


class Controller(Struct, frozen=True):
    """The controller that creates the objects and pods of a workload."""

    title: str
    """The program that users install, as words in a message; empty for a controller of Kubernetes."""
    account: str
    """The ServiceAccount in upstream's manifests, as namespace/name."""
    creates: tuple[str, ...]
    """The frameworks of Kueue whose objects the controller creates, and whose own controllers create the pods."""


class ChildTemplate(Struct, frozen=True):
    """The template of a child object, such as a Job. The workload owns the child object, which owns the pods."""

    pod_set: str
    """The name of the pod set; empty if the name of the object does not depend on it."""
    template: Any
    """The template with metadata and spec, unvalidated."""
    labels: Mapping[str, str]
    """The labels that the controller adds to the object."""
    path: Path
    """The path of the template in the workload; empty if the workload itself is the template."""
    part: Path = ()
    """Which part of the child object the workload has at `path`; empty if it has the complete child object."""


class Child(Struct, frozen=True):
    """The objects that a controller creates for a workload and that own its pods, such as the Jobs of a CronJob."""

    kind: Kind
    suffix: str
    """The end of the name after the name of the workload, in which {} is the name of the pod set."""
    templates: Callable[[Body], Iterator[ChildTemplate]]
    """Yields the objects that the controller creates before the pods."""


class PodLabels(Struct, frozen=True):
    """The labels that controllers add to the pods that they create from a template."""

    known: Mapping[str, Callable[[Body, Path], Any]]
    """The labels with values from the object. The functions take the object and the path of the template."""
    prefixes: tuple[str, ...]
    """Starts of the keys of all labels that the controllers add."""


NO_LABELS = PodLabels({}, ())


class Start(NamedTuple):
    """When the controller starts the pods of a workload: at once, or by a schedule."""

    spec: Path
    """The path of the spec of the jobs."""
    schedule: Path | None
    """The path of the schedule; None for an object that starts at once."""
    managers: tuple[str, ...]
    """The values of managedBy in the spec of jobs for which the kind's own controller starts the jobs."""


AT_ONCE = Start(("spec",), schedule=None, managers=())


Find = Callable[[str, str, str, str], Body | None]
"""Returns an object by API group, kind, name and namespace, which is empty for a cluster-scoped kind."""


class Problem(NamedTuple):
    """The reason why an object does not run as its user expects, and the fix."""

    message: str
    fix: str
    field: Path
    is_refused: bool = False
    """Whether the webhook of the controller refuses the object; otherwise the object is stored, and has the effect."""
    outcome: str = ""
    """What the pods do, as the beginning of a sentence; empty if no pods start."""


class Resolved(NamedTuple):
    """The object that a controller creates from two objects, for example a JobSet from a TrainJob and its runtime."""

    document: Body | None
    """The created object; None if the named object does not exist."""
    problems: tuple[Problem, ...]


class Traits(NamedTuple):
    """Properties that most kinds of workloads do not have. NO_TRAITS is the value for these kinds."""

    further_pods: Callable[[Body], Iterator[FurtherPods]]
    made: Callable[[Body, Path, Any], Made | None]
    """Returns the pods that the controller makes from a template.

    The arguments are the object, the path of the template and the spec of the pods. None if the controller makes as
    many pods as the pod set has, and adds nothing that matters.
    """
    elsewhere: Callable[[Body], str]
    """Returns a text with the field that gives the work of an object to the pods of another object; else empty.

    Kueue ignores such an object, and no pods come from its templates.
    """
    claims: Path
    """The path of the templates of named PersistentVolumeClaims, as in a StatefulSet; empty without such templates."""
    keeps_data: bool
    """Whether the object is a program with data, whose deletion a person should confirm."""
    is_scaled: bool
    """Whether autoscalers change spec.replicas."""
    is_per_node: bool
    """Whether the object runs a pod on every node, also before the node is ready."""
    has_service: bool
    """Whether the controller creates the Service for the DNS names of the pods.

    True also if the controller does so only for some objects of the kind.
    """
    is_expanded: bool
    """Whether Gatekeeper checks the pod template as a pod.

    The path of the template must not contain a list: Gatekeeper would deny every object of the kind. The policies check
    the Jobs of a JobSet instead.
    """
    is_rehearsed: bool
    """Whether the rehearsal serves the kind, although no chart of gpuc installs its CustomResourceDefinition."""
    why_not_traced: str
    """Why gpuc does not trace the objects of a kind without `pod_set`, if their pods come from an object that gpuc
    does not read, or if a program that gpuc does not evaluate starts the pods or chooses their nodes; else empty."""
    problems: Callable[[Body], Iterator[Problem]]
    """Yields what is wrong with an object that describes pods of other objects."""
    resolved: Callable[[Body, Find], Resolved] | None
    """Returns the workload that the controller creates from an object whose pods another object describes."""
    placement: Callable[[Body, Path, int], tuple[Path, str] | None]
    """Returns a rule about the nodes of the pods that the trace does not evaluate: its field and the reason; else None.

    The arguments are the object, the path of the template and the number of pods.
    """


NO_TRAITS = Traits(
    lambda _: iter(()), made=lambda _, __, ___: None, elsewhere=lambda _: "", claims=(), keeps_data=False,
    is_scaled=False, is_per_node=False, has_service=False, is_expanded=False, is_rehearsed=False, why_not_traced="",
    problems=lambda _: iter(()), resolved=None, placement=lambda _, __, ___: None,
)  # fmt: skip


class WorkloadKind(Struct, frozen=True, kw_only=True):
    """What gpuc knows about a kind of objects with pods, or about a kind from which a controller creates pods."""

    group: str
    """The API group; the empty string for the core group."""
    kind: str
    version: str
    """The version of the API that the cluster serves, and for kinds of Kubernetes the only one."""
    templates: tuple[str, ...]
    """The paths of the pod templates, as patterns of compiler/gpuc/objects/paths.py.

    The path of a Pod is empty, because the object is the template.
    """
    pod_set: Callable[[Body, Path], tuple[str, int]] | None
    """Returns the name of the pod set and the number of pods for the object and the path of a template.

    None if gpuc does not trace the kind, for example because Kueue does not manage it.

    Source: kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs, PodSets of each kind
    """
    queueing: Queueing
    controller: Controller | None
    """None if no controller creates the pods, or if gpuc does not know it."""
    child: Child | None
    """None if the workload itself owns the pods."""
    labels: PodLabels
    start: Start
    traits: Traits
    sample_fields: Body
    """The fields of a small valid object, without apiVersion, kind and metadata."""

    @property
    def name(self) -> str:
        """The API group and the kind, for example "batch/Job"; only the kind for the core group."""
        return "/".join(filter(None, (self.group, self.kind)))

    @property
    def api(self) -> str:
        """The apiVersion of the objects."""
        return "/".join(filter(None, (self.group, self.version)))

    @property
    def is_builtin(self) -> bool:
        """Whether Kubernetes itself defines the kind."""
        return "." not in self.group

    @property
    def is_pod(self) -> bool:
        """Whether the objects of this kind are pods themselves."""
        return self.templates == ("",)

    @property
    def creates_pods(self) -> bool:
        """Whether the object is a pod, or a controller creates pods from it."""
        return self.is_pod or self.controller is not None

    @property
    def is_runtime(self) -> bool:
        """Whether the objects have pod templates, but the pods are created from objects of other kinds."""
        return bool(self.templates) and not self.creates_pods

    @property
    def is_traced(self) -> bool:
        """Whether `gpuc trace` works for objects of the kind."""
        return self.pod_set is not None

    def sample(self, queue: str) -> Body:
        """Returns a small valid object with the name "sample" that waits in a LocalQueue."""
        metadata: Body = {"name": "sample", "namespace": "default", "labels": {QUEUE_LABEL: queue}}
        document = {"apiVersion": self.api, "kind": self.kind, "metadata": metadata, **deepcopy(self.sample_fields)}
        labels = document
        for key in self.queueing.labels[-1]:
            labels = labels.setdefault(key, {})
        labels[QUEUE_LABEL] = queue
        return document


def unknown_kind(group: str, kind: str) -> WorkloadKind:
    """Returns a WorkloadKind with empty fields, for a kind that gpuc does not know."""
    return WorkloadKind(
        group=group, kind=kind, version="v1", templates=(), pod_set=None, queueing=NOT_QUEUED, controller=None,
        child=None, labels=NO_LABELS, start=AT_ONCE, traits=NO_TRAITS, sample_fields={},
    )  # fmt: skip


def name_of(document: Body, _: Path = ()) -> str:
    """Returns the name of an object; an empty text without a name."""
    return str(document["metadata"].get("name") or "")


def sample_template(restart_policy: str, *labels: str, name: str = "main") -> Body:
    """Returns a pod template with one container.

    Args:
        restart_policy: the restartPolicy of the pods.
        labels: labels of the pods, each with the value "sample".
        name: the name of the container.
    """
    container = {"name": name, "image": "registry.example.com/work:1"}
    spec = {"restartPolicy": restart_policy, "containers": [container]}
    return {"metadata": {"labels": dict.fromkeys(labels, "sample")}, "spec": spec}
