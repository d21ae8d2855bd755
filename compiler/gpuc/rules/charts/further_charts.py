"""Rules about the Helm charts that a spec adds under `charts`: their names, namespaces, kinds and values."""

from collections.abc import Iterator

from gpuc.diagnostics.finding import Path, Related
from gpuc.diagnostics.spelling import nearest
from gpuc.manifest.printable import unprintable
from gpuc.model import Cluster
from gpuc.model.tenant_kinds import DENIED_KINDS
from gpuc.rules import Findings, Found, rule
from gpuc.spec.charts import Chart


@rule("CHT001")
def chart_in_namespace_of_tenant(cluster: Cluster) -> Findings:
    """A chart of the platform has objects in a namespace of a tenant."""
    owners = {namespace.name: tenant for tenant, namespace in cluster.namespaces}
    for name, chart in cluster.spec.charts.items():
        if chart.tenant is not None:
            continue
        for path, namespace in _namespaces(name, chart):
            if owner := owners.get(namespace):
                actual = f"namespace {namespace} of chart {name} belongs to tenant {owner.name}"
                fix = f"add tenant: {owner.name} to chart {name}, or choose another namespace"
                related = [Related(f"tenant {owner.name}", (*owner.path, "namespaces", namespace), on_key=True)]
                yield Found(path, f"{actual}; expected another namespace", fix, related)


def _namespaces(name: str, chart: Chart) -> Iterator[tuple[Path, str]]:
    """Yields the namespaces of a chart, each with its path in the spec."""
    yield ("spec", "charts", name, "namespace"), chart.namespace
    for index, namespace in enumerate(chart.namespaces):
        yield ("spec", "charts", name, "namespaces", index), namespace


@rule("CHT002")
def chart_outside_of_tenant(cluster: Cluster) -> Findings:
    """A chart of a tenant has cluster-scoped objects, or objects outside of the namespaces of the tenant."""
    tenants = {tenant.name: [namespace.name for namespace in tenant.namespaces] for tenant in cluster.tenants}
    for name, chart in cluster.spec.charts.items():
        if chart.tenant is None:
            continue
        path = ("spec", "charts", name)
        if chart.tenant not in tenants:
            suggestion = nearest(chart.tenant, tenants)
            message = f"tenant {chart.tenant} of chart {name} does not exist; expected {' or '.join(tenants)}"
            yield Found((*path, "tenant"), message, f"set tenant to {suggestion}" if suggestion else "")
            continue
        own = tenants[chart.tenant]
        for place, namespace in _namespaces(name, chart):
            if namespace not in own:
                message = f"namespace {namespace} of chart {name} does not belong to tenant {chart.tenant}"
                yield Found(place, f"{message}; expected {' or '.join(own)}")
        for index, kind in enumerate(chart.kinds.cluster):
            message = f"chart {name} of tenant {chart.tenant} has the cluster-scoped kind {kind}; expected none"
            yield Found((*path, "kinds", "cluster", index), message)


@rule("CHT003")
def chart_with_denied_kind(cluster: Cluster) -> Findings:
    """A chart of a tenant has objects of a kind with which the tenant could bypass its isolation or its quotas."""
    for name, chart in cluster.spec.charts.items():
        for index, kind in enumerate(chart.kinds.namespaced if chart.tenant else ()):
            group, _, short = kind.rpartition("/")
            if reason := DENIED_KINDS.get((group, short)):
                message = f"chart {name} of tenant {chart.tenant} has objects of the kind {kind}: {reason}"
                yield Found(("spec", "charts", name, "kinds", "namespaced", index), message)


_APPLICATIONS = ("extra", "monitoring", "project", "root", "tenants")
"""Names of Applications of gpuc, and of files in the same folder."""


@rule("CHT004")
def chart_with_taken_name(cluster: Cluster) -> Findings:
    """A chart has the name of a component, or of an Application that gpuc creates."""
    for name in cluster.spec.charts:
        path = ("spec", "charts", name, "repository")
        component = next((item for item in cluster.components if name == item or name.startswith(f"{item}-")), None)
        if component is not None:
            message = f"chart {name} has the name of component {component}, or begins with it; expected another name"
            yield Found(path, message, f"rename chart {name}, or use components.{component}")
        elif name in _APPLICATIONS or name.startswith("extra-"):
            yield Found(path, f"chart {name} has the name of an Application of gpuc; expected another name")


@rule("CHT005")
def unwritable_chart_value(cluster: Cluster) -> Findings:
    """gpuc cannot write a Helm value as YAML that all tools read in the same way."""
    for name, chart in cluster.spec.charts.items():
        path: Path = ("spec", "charts", name, "values")
        yield from (Found(*problem) for problem in unprintable(chart.values, allows_null=True, path=path))
