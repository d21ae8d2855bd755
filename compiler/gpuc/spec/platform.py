"""Platform settings: releases, delivery, job frameworks, policies, NCCL profiles and observability."""

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from gpuc.parts.workload_kinds import spec_frameworks
from gpuc.spec.base import Bytes, Name, OneOf, Shorthand, SpecModel
from gpuc.spec.form import Form, Synonyms, Words, hyphenated, text_error
from gpuc.spec.metadata import Annotations, Labels, LabelValue, PodLabels
from gpuc.spec.notify import Notify

Stage = Annotated[Literal["dryrun", "warn", "deny"], Synonyms((("audit", "dryrun"), ("enforce", "deny")))]

_MILLICORES = r"^\d{1,6}m$"


def _millicores(value: Any) -> Any:
    if isinstance(value, str | int | float) and not re.fullmatch(_MILLICORES, str(value)):
        raise text_error("a number of millicores, as in 100m", _in_millicores(str(value)))
    return value


def _in_millicores(text: str) -> str:
    """Returns a number of CPUs in millicores; an empty string for other texts."""
    millicores = Fraction(text) * 1000 if re.fullmatch(r"\d{1,3}(\.\d{1,3})?", text) else Fraction(0)
    return f"{millicores}m" if millicores > 0 else ""


NamespaceName = Annotated[
    str,
    Form(r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", "a name of lower-case letters, digits and hyphens", hyphenated),
    Field(max_length=63),
]


class Releases(Shorthand):
    """The versions of the Helm charts: a release set, tested as a whole, and other versions of single charts."""

    short_for: ClassVar[str] = "set"

    set: Annotated[str, Form(r"^\d{4}\.\d{2}$", "a release set such as 2026.08")]
    """The name of the tested set: year and month, for example 2026.08."""

    components: dict[Name, Annotated[str, Form(r"^v?\d+\.\d+\.\d+$", "an exact version such as 1.14.1")]] = {}
    """Chart versions by component, in place of the versions of the set. gpuc has not tested other versions."""


OWN_SERVER = "https://kubernetes.default.svc"
"""The URL that Argo CD uses for the API server of the cluster in which Argo CD runs."""
OWN_NAME = "in-cluster"
"""The name that Argo CD uses for the cluster in which Argo CD runs."""


class Destination(OneOf):
    """The cluster to which Argo CD applies the output, and the namespace of Argo CD."""

    one_of = ("server", "name")

    in_messages: ClassVar[str] = "{server: https://kubernetes.default.svc, namespace: argocd}"

    server: Annotated[str | None, Form(r"^https://[A-Za-z0-9.:/_-]+$", "a URL such as https://10.0.250.5:443")] = None
    """URL of the API server in Argo CD. https://kubernetes.default.svc is the cluster in which Argo CD runs."""

    name: (
        Annotated[
            str,
            Form(
                r"^[A-Za-z0-9]([A-Za-z0-9./:_-]*[A-Za-z0-9])?$",
                "letters, digits and . / : _ -, with a letter or digit at both ends",
            ),
            Field(max_length=253),
        ]
        | None
    ) = None
    """Name of the cluster in Argo CD, instead of the URL. in-cluster is the cluster in which Argo CD runs."""

    namespace: NamespaceName
    """The namespace in which Argo CD runs."""

    @property
    def is_own_cluster(self) -> bool:
        """Whether Argo CD runs in the cluster to which Argo CD applies the output."""
        return self.server == OWN_SERVER or self.name == OWN_NAME


def _relative(text: str) -> str:
    return text.removeprefix("./").lstrip("/")


class Delivery(SpecModel):
    """Where Argo CD finds the output, and how Argo CD applies it to the cluster."""

    in_messages: ClassVar[str] = "{repo: https://git.example.com/platform/gpu-fleet.git}"

    repo: Annotated[
        str,
        Form(
            r"^(https://|ssh://|git@)[A-Za-z0-9@:/._-]+$",
            "a URL that begins with https:// or ssh://, or git@host:path",
            lambda text: re.sub("^http://", "https://", text),
        ),
    ]
    """The URL of the Git repository that contains out/."""

    revision: Annotated[str, Form(r"^[A-Za-z0-9][A-Za-z0-9/._-]*$", "the name of a branch or tag such as main")] = (
        "main"
    )
    """The branch or tag from which Argo CD reads the output. Default: main."""

    path: Annotated[
        str, Form(r"^[A-Za-z0-9][A-Za-z0-9/._-]*$", "a path in the repository such as clusters/out", _relative)
    ] = "out"
    """The path of out/ in the repository. Default: out."""

    destination: Destination = Destination(server=OWN_SERVER, namespace="argocd")
    """The cluster to which Argo CD applies the output. Default: the cluster in which Argo CD runs, namespace argocd."""

    prune: Annotated[
        Literal["never", "confirm", "automatic"],
        Words("never, confirm (deletes after a second commit) or automatic (deletes at the next sync)"),
    ] = "confirm"
    """How the objects of removed pools, queues and tenants are deleted. Argo CD always prunes stateless components.
    Default: confirm.

    never: Argo CD deletes no objects of removed elements. You delete these objects. gpuc does not check removals.

    confirm: a removal needs two commits. The first commit marks the element as `leaving`. After the second commit Argo
    CD deletes the NodePool and RBAC objects of the element. You delete the objects that contain workloads or data. gpuc
    refuses a removal without the first commit.

    automatic: at the next sync Argo CD deletes all objects of removed elements, with their nodes and workloads. gpuc
    does not check removals.
    """


if TYPE_CHECKING:
    Framework = str
else:
    Framework = Literal[tuple(spec_frameworks())]
"""A kind of workloads that Kueue manages, as Kueue names its integration."""
ServiceAccount = Annotated[
    str, Form(r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?/[a-z0-9]([a-z0-9.-]*[a-z0-9])?$", "namespace/name of a ServiceAccount")
]
"""A ServiceAccount as namespace/name."""


class Kueue(SpecModel):
    """Settings of Kueue: the kinds of workloads that Kueue manages, and their controllers."""

    in_messages: ClassVar[str] = "{frameworks: [batch/job]}"

    frameworks: "Annotated[list[Framework], Field(min_length=1)] | None" = None
    """The kinds of workloads that wait in the queues of Kueue. Default: batch/job and the kinds of the components.

    Components with kinds of workloads are jobset, trainer, kuberay and lws. Without its component, another team
    installs the controller of a kind that Kubernetes does not define. With leaderworkerset, pod, deployment or
    statefulset, Kueue ignores workloads without a queue, and policy queue-required denies them.
    """

    controllers: "dict[Framework, ServiceAccount]" = {}
    """The ServiceAccount of the controller of a framework as namespace/name, by framework.

    The policies gpu-quota, queue-required and owned-workloads let this ServiceAccount create the jobs and pods of
    workloads, which have no queue of their own. No effect for a framework that is not in `frameworks`, except JobSet if
    `frameworks` has TrainJob. Default: the ServiceAccount of the component's chart, else the one in the manifests of
    the framework's project.
    """

    # Six attempts of about 25 minutes and their pauses take three hours, in which capacity is often there again. Fewer
    # could stop a long run that has lost several nodes: Kueue counts during the whole life of a Workload.
    start_attempts: Annotated[int, Field(ge=1, le=100)] = 6
    """How often Kueue starts a workload whose pods do not become ready in time.

    After the last attempt Kueue deactivates the workload, which then uses no nodes. Each attempt can hold the nodes of
    the workload for the time limit `waitForPodsReady.timeout`. The attempts also include restarts after the loss of a
    node, if the new node is late.
    """


Millicores = Annotated[str, BeforeValidator(_millicores), WithJsonSchema({"type": "string", "pattern": _MILLICORES})]
"""CPU in millicores, for example 100m."""


class NodeAgent(SpecModel):
    """The resource requests of a DaemonSet that runs on nodes but that gpuc does not install."""

    in_messages: ClassVar[str] = "{cpu: 100m, memory: 200Mi}"

    nodes: Literal["all", "gpu", "efa"] = "all"
    """The nodes on which the DaemonSet runs: all nodes, nodes with GPUs, or nodes with EFA."""

    cpu: Millicores
    """The sum of the CPU requests of all containers of a pod, in millicores, for example 100m."""

    memory: Bytes
    """The sum of the memory requests of all containers of a pod."""


class Policy(Shorthand):
    """The rollout stage (dryrun, warn or deny) and the parameters of an admission policy."""

    model_config = ConfigDict(extra="allow")  # rule POL003 checks the settings

    short_for: ClassVar[str] = "stage"

    stage: Stage | None = None
    """dryrun reports violations, warn also warns the user, deny refuses the object. Default: the stage of `default`."""


class NcclProfile(SpecModel):
    """Environment variables for NCCL on one network fabric."""

    in_messages: ClassVar[str] = "{fabric: efa}"

    fabric: Literal["efa"]
    """The fabric for which the profile is written. Namespaces with the profile use pools with this fabric."""

    debug: Literal["VERSION", "WARN", "INFO", "TRACE"] = "WARN"
    """The detail of NCCL's log, the value of NCCL_DEBUG: VERSION prints the least, TRACE the most."""

    env: dict[
        Annotated[str, Form(r"^[A-Z][A-Z0-9_]*$", "the name of a variable such as NCCL_DEBUG", str.upper)],
        Annotated[str, Form(r"^[^\x00-\x1f\x7f]*$", "a text on one line"), Field(max_length=256)],
    ] = {}
    """Other environment variables by name, in addition to the variables that gpuc sets for the fabric."""


class Nccl(SpecModel):
    """Named sets of environment variables for NCCL, which namespaces select."""

    profiles: dict[Name, NcclProfile] = {}
    """Profiles by name. A namespace of a tenant selects a profile with `nccl`."""


class Prometheus(SpecModel):
    """The Prometheus instance of the cluster."""

    in_messages: ClassVar[str] = "{release: kube-prometheus-stack}"

    release: LabelValue
    """The value of the label `release` by which Prometheus selects ServiceMonitors, PodMonitors and rules."""

    pods: PodLabels = {"app.kubernetes.io/name": "prometheus"}
    """The labels of the pods that scrape metrics, for example `app.kubernetes.io/name: vmagent`.
    Default: `app.kubernetes.io/name: prometheus`, as in kube-prometheus-stack. The NetworkPolicies of tenants allow
    only these pods in `namespace`."""

    cluster_label: (
        Annotated[
            str,
            Form(
                r"^(?!__|(namespace|pod|node|hostname|pool|nodepool|tenant|job|instance|severity|team)$)[A-Za-z_]\w*$",
                "a label that no rule uses, such as cluster",
            ),
        ]
        | None
    ) = None
    """The label with the name of the cluster in a store of several clusters, for example `cluster`. The agent of each
    cluster adds the label to all its series: `<label>: <metadata.name>`. gpuc then writes the label into all rules.
    Default: the store that evaluates the rules has the series of this cluster only."""


class Alerts(SpecModel):
    """The labels that gpuc adds to every alert."""

    in_messages: ClassVar[str] = "{team: gpu-platform}"

    team: LabelValue
    """The value of the label team of every alert, by which Alertmanager can select a receiver."""


class Dashboards(SpecModel):
    """Dashboards for Grafana. gpuc installs no Grafana, and does not test how Grafana draws a panel."""

    in_messages: ClassVar[str] = "{via: configmaps}"

    via: Literal["configmaps", "files", "none"] = "configmaps"
    """How the dashboards come to Grafana.

    configmaps: a ConfigMap for each dashboard in `observability.namespace`, which the sidecar of Grafana's chart finds
    by its labels. The sidecar of kube-prometheus-stack reads all namespaces.

    files: `clusters/<name>/dashboards/*.json`, to import by hand or with another program.

    none: no dashboards."""

    labels: Labels = {"grafana_dashboard": "1"}
    """The labels by which the sidecar finds the ConfigMaps. Default: `grafana_dashboard: "1"`, as in
    kube-prometheus-stack."""

    annotations: Annotations = {}
    """Annotations of the ConfigMaps, for example `grafana_folder: gpuc` if the sidecar has this `folderAnnotation`."""


class Observability(SpecModel):
    """Metrics, alerts and dashboards."""

    in_messages: ClassVar[str] = (
        "{namespace: monitoring, prometheus: {release: kube-prometheus-stack}, alerts: {team: gpu-platform}}"
    )

    namespace: NamespaceName
    """The namespace in which Prometheus runs. gpuc does not install Prometheus."""

    prometheus: Prometheus
    """The Prometheus instance of the cluster."""

    alerts: Alerts
    """Labels of alerts."""

    dashboards: Dashboards = Dashboards()
    """Dashboards for the cluster, node pools, nodes, queues, jobs and tenants."""

    notify: Notify | None = None
    """Receivers of alerts, and the routes to them. Default: you configure Alertmanager yourself."""
