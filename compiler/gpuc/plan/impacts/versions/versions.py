"""Impacts on versions and values of charts, and versions of Kubernetes."""

from collections.abc import Iterator

from gpuc.diagnostics.place import place
from gpuc.diagnostics.words import first_names
from gpuc.objects.object_set import dig
from gpuc.plan.applications import component_of, kept_applications
from gpuc.plan.change import Change
from gpuc.plan.chart_changes import (
    changed_installations,
    chart_changes,
    numbers,
    restart,
    restarting_values,
    values_of_other_team,
)
from gpuc.plan.impact import Impacts, Level, Raised, impact


@impact("IMP601", Level.RESTRICTS)
def chart_upgraded(change: Change) -> Impacts:
    """A chart gets a newer version.

    Argo CD applies the templates of the new version, and the programs of the component restart. A revert applies the
    old definitions of custom resources again. The API server refuses a definition that lacks a stored version, and
    stored objects keep the form of the new version. Read the release notes of the new version.

    Source: kueue v0.19.2 charts/kueue/templates/manager/manager.yaml, image and config-checksum; argo-cd v3.5.1
    util/helm/cmd.go, --include-crds
    """
    for chart in chart_changes(change):
        if not chart.is_older:
            yield chart.raised("version", chart.effect)


@impact("IMP602", Level.DISRUPTS)
def chart_downgraded(change: Change) -> Impacts:
    """A chart gets an older version.

    Projects test upgrades, not downgrades. Argo CD applies the old definitions of custom resources. The API server
    refuses a definition that lacks a stored version, and stored objects keep the form of the new version. The older
    version may not know their fields and versions, and then fails to read them.

    Source: k8s.io/apiextensions-apiserver v0.35.4 pkg/apis/apiextensions/validation/validation.go,
    ValidateCustomResourceDefinitionStoredVersions; argo-cd v3.5.1 util/helm/cmd.go, --include-crds
    """
    for chart in chart_changes(change):
        if chart.is_older:
            yield chart.raised("older version", "it may not read objects of the newer version")


@impact(
    "IMP605", Level.RESTRICTS, source="argo-cd v3.5.1 docs/user-guide/helm.md; docs/user-guide/private-repositories.md"
)
def chart_repository_changes(change: Change) -> Impacts:
    """A chart comes from another repository, for example from a mirror.

    The sync fails if the repository does not have the version or if Argo CD has no credentials for the repository. The
    programs of the component run on until then, and do not restart if the chart is the same.
    """
    for before, after in kept_applications(change):
        old, new = before.chart, after.chart
        if old and new and old.url != new.url:
            message = (
                f"Argo CD reads chart {new.chart} {new.revision} from {new.url} instead of {old.url}; "
                "without the version there, or without credentials, the sync fails"
            )
            yield Raised(
                f"component {component_of(change, after.name)}", message, after.manifest, (*new.path, "repoURL")
            )


@impact("IMP610", Level.NONE, source="the charts in components/*/release.json, and the DaemonSets that they install")
def component_added(change: Change) -> Impacts:
    """The cluster needs another component, so Argo CD installs its chart.

    The DaemonSets of the chart take resources of the nodes that they select, also of nodes that run.
    """
    for found in changed_installations(change):
        if not found.before:
            message = f"Argo CD installs chart {found.chart} in namespace {found.namespace}"
            values = change.values_of(found.component)
            manifest = (values.after if values else None) or found.pair.after
            agents = tuple(_node_agents(change, found.component))
            yield Raised(f"component {found.component}", message, manifest, (), agents)


def _node_agents(change: Change, component: str) -> Iterator[str]:
    """Yields a sentence for each DaemonSet of the component."""
    catalog = change.after.cluster.catalog if change.after.cluster else None
    for row in catalog.daemonsets if catalog else ():
        if row.component == component:
            nodes = "all nodes" if row.nodes == "all" else f"nodes with {row.nodes.upper()}"
            requests = f"{row.cpu_milli}m CPU and {row.memory_mib}Mi memory"
            yield f"DaemonSet {row.name} requests {requests} on {nodes}"


_SHOWN = 4


@impact("IMP603", Level.RESTRICTS)
def component_restarts(change: Change) -> Impacts:
    """The Helm values of a component change, and its programs restart.

    While they restart, Kueue admits nothing, or Karpenter starts no node, usually for some seconds. If no replica of
    Gatekeeper answers, the failure policy of its webhook counts. Running pods are not disturbed. A value that is in no
    pod, for example the number of replicas, restarts no program.

    Source: kueue v0.19.2 charts/kueue/templates/manager/manager.yaml (config-checksum), and the pod templates of
    the other charts
    """
    for pair in change.helm_values():
        fields = restarting_values(pair)
        if fields and not values_of_other_team(pair.after):
            names = list(dict.fromkeys(place(field.path[:3]).removeprefix("metadata.") for field in fields))
            programs, effect = restart(change, pair.name, fields)
            message = f"its {programs}, because values change: {first_names(names, _SHOWN)}"
            yield pair.raised(message, fields[0].path, (effect,) if effect else ())


@impact("IMP611", Level.RESTRICTS, source="the reasons of the Helm values in clusters/CLUSTER/README.md")
def values_for_other_team(change: Change) -> Impacts:
    """The Helm values of a component change that another team installs.

    Argo CD does not apply these values. Until the other team installs them, the objects of gpuc rely on values that the
    program does not have, for example frameworks of Kueue or feature gates of Karpenter.
    """
    for pair in change.helm_values():
        if values_of_other_team(pair.before) and values_of_other_team(pair.after) and pair.fields:
            names = list(dict.fromkeys(place(field.path[:3]) for field in pair.fields))
            message = f"the team that installs the chart has to change values: {first_names(names, _SHOWN)}"
            details = (f"the values: {pair.manifest.file}", "the objects of gpuc do not wait for this change")
            yield pair.raised(message, pair.fields[0].path, details)


@impact("IMP604", Level.DISRUPTS)
def kubernetes_changes(change: Change) -> Impacts:
    """The spec names a newer version of Kubernetes.

    gpuc and Argo CD upgrade no control plane. After the control plane of EKS has the version, an image alias means
    the image of its release for this version, and Karpenter replaces all nodes within the budgets. If AWS has no such
    image, Karpenter finds none, and nodes and new nodes keep the image of the old version.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/amifamily/al2023.go, DescribeImageQuery;
    pkg/controllers/nodeclass/ami.go, Reconcile; awsdocs/amazon-eks-user-guide, update-cluster
    """
    before, after = _versions(change)
    if numbers(after) <= numbers(before):
        return
    images = {
        manifest.name: dig(manifest.body, "spec", "amiSelectorTerms") or ()
        for manifest in change.after.objects.of("karpenter.k8s.aws", "EC2NodeClass")
    }
    # Karpenter accepts an alias only as the single term of a list.
    aliases = [name for name, terms in images.items() if any("alias" in term for term in terms)]
    others = [name for name in images if name not in aliases]
    replaces = "; after its upgrade, Karpenter replaces nodes" if aliases else ""
    message = f"Kubernetes {after} instead of {before}: neither gpuc nor Argo CD upgrades the control plane{replaces}"
    details: list[str] = []
    steps = numbers(after)[-1] - numbers(before)[-1]
    if steps > 1:
        details.append(f"EKS upgrades by one minor version at a time: {steps} upgrades")
    if aliases:
        details += (
            "after the upgrade, the image alias means another image, and Karpenter replaces all nodes of these pools "
            f"within their budgets: {', '.join(aliases)}",
            "if AWS has no image of this release for the new version, nothing is replaced and new nodes keep the old "
            "kubelet; choose a newer alias",
        )
    if others:
        details.append(f"pools without an image alias keep their nodes until another image: {', '.join(others)}")
    yield Raised(f"cluster {change.after.name}", message, path=("spec", "kubernetes"), details=tuple(details))


@impact("IMP612", Level.DISRUPTS)
def kubernetes_older(change: Change) -> Impacts:
    """The spec names an older version of Kubernetes.

    EKS rolls a control plane back by one minor version, within seven days after an upgrade. Otherwise the cluster has
    to be created again. Kubelets must not be newer than the API server, and an image alias means the image for the
    version that the control plane still has.

    Source: docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html; aws/karpenter-provider-aws v1.14.1
    pkg/providers/amifamily/ami.go, DescribeImageQueries
    """
    before, after = _versions(change)
    if numbers(after) >= numbers(before):
        return
    message = (
        f"Kubernetes {after} instead of {before}: EKS rolls back by one minor version, "
        "within seven days after the upgrade, and later not at all"
    )
    details = (
        "first: replace the nodes with nodes of the older version, because a kubelet must not be newer than the API "
        "server; then roll back the control plane",
        "pools with an image alias need the id of an image of the older version first",
        "if the cluster never had the newer version, only the output of gpuc changes",
    )
    yield Raised(f"cluster {change.after.name}", message, path=("spec", "kubernetes"), details=details)


def _versions(change: Change) -> tuple[str, str]:
    """Returns the versions of Kubernetes of the specs before and after the change; empty without both specs."""
    before, after = change.before.cluster, change.after.cluster
    return (before.spec.kubernetes, after.spec.kubernetes) if before and after else ("", "")
