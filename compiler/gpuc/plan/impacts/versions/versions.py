"""Impacts on versions and values of charts, and versions of Kubernetes."""

from collections.abc import Iterator

from gpuc.diagnostics.place import place
from gpuc.diagnostics.words import first_names
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
from gpuc.plan.substrate import substrate_plan


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

    While they restart, Kueue admits nothing, or no node starts, usually for some seconds. If no replica of
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
    program does not have, for example frameworks of Kueue or feature gates.
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

    gpuc and Argo CD upgrade no control plane. After the control plane has the version, an image alias means the image
    of its release for this version, and all nodes are replaced within the budgets. If there is no such image, nodes and
    new nodes keep the image of the old version.

    Source: aws/karpenter-provider-aws v1.14.1 pkg/providers/amifamily/al2023.go, DescribeImageQuery;
    pkg/controllers/nodeclass/ami.go, Reconcile; awsdocs/amazon-eks-user-guide, update-cluster
    """
    text, versions = _versions(change)
    if versions > 0:
        more, details = substrate_plan(change.after).control_plane(change, versions)
        message = f"{text}: neither gpuc nor Argo CD upgrades the control plane{more}"
        yield Raised(f"cluster {change.after.name}", message, path=("spec", "kubernetes"), details=details)


@impact("IMP612", Level.DISRUPTS)
def kubernetes_older(change: Change) -> Impacts:
    """The spec names an older version of Kubernetes.

    Few control planes go back to an older version. Without a way back, the cluster has to be created again. Kubelets
    must not be newer than the API server, and an image alias means the image for the version that the control plane
    still has.

    Source: docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html; aws/karpenter-provider-aws v1.14.1
    pkg/providers/amifamily/ami.go, DescribeImageQueries
    """
    text, versions = _versions(change)
    if versions >= 0:
        return
    way, more = substrate_plan(change.after).control_plane(change, versions)
    details = (
        "first: replace the nodes with nodes of the older version, because a kubelet must not be newer than the API "
        "server; then roll back the control plane",
        *more,
        "if the cluster never had the newer version, only the output of gpuc changes",
    )
    yield Raised(f"cluster {change.after.name}", f"{text}: {way}", path=("spec", "kubernetes"), details=details)


def _versions(change: Change) -> tuple[str, int]:
    """Returns the versions of Kubernetes in words, and the number of versions in between; 0 without both specs."""
    if not change.before.cluster or not change.after.cluster:
        return "", 0
    before, after = (state.cluster.spec.kubernetes for state in (change.before, change.after) if state.cluster)
    return f"Kubernetes {after} instead of {before}", numbers(after)[-1] - numbers(before)[-1]
