"""Dashboards for Grafana with the panels of the components, as ConfigMaps for Grafana's sidecar or as JSON files.

Pools, nodes, queues, tenants and namespaces are variables of a dashboard, so its text contains no names of a cluster.
All clusters with the same components therefore have the same text. gpuc does not test how Grafana draws a panel.
"""

from collections.abc import Iterator
from pathlib import Path

from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.emit.component import by_section, needed_components
from gpuc.emit.dashboards.dashboard import dashboard_texts
from gpuc.emit.sync import wave
from gpuc.manifest.manifest import Artifact, Manifest, Text
from gpuc.model import Cluster, once_for_each_cluster

ORIGIN: SpecPath = ("spec", "observability")


def dashboards(cluster: Cluster) -> Iterator[Artifact]:
    """Yields the dashboards of a cluster as ConfigMaps or files; nothing if `observability.dashboards.via` is none."""
    observability = cluster.spec.observability
    if observability is None or observability.dashboards.via == "none":
        return
    settings = observability.dashboards
    for name, text in texts(cluster).items():
        file = f"gpuc-{name}.json"
        if settings.via == "files":
            yield Text(cluster.entry(f"dashboards/{file}"), ORIGIN, text)
            continue
        yield Manifest(
            file=cluster.out(f"monitoring/dashboards/{name}.yaml"),
            origin=ORIGIN,
            api="v1",
            kind="ConfigMap",
            name=f"gpuc-{cluster.name}-dashboard-{name}",
            body={"data": {file: text}},
            namespace=observability.namespace,
            labels=dict(settings.labels),
            annotations={**settings.annotations, **wave(0)},
            overrides={
                ("metadata", field, key): (*ORIGIN, "dashboards", field, key)
                for field in ("labels", "annotations")
                for key in getattr(settings, field)
            },
        )


@once_for_each_cluster
def texts(cluster: Cluster) -> dict[str, str]:
    """Returns the JSON of each dashboard of a cluster, by name. The cluster has the section `observability`."""
    assert cluster.spec.observability is not None
    # The last sections of the spec first: GPUs and queues before nodes.
    files = [component.folder / "panels.toml" for component in reversed(by_section(needed_components(cluster)))]
    label = cluster.spec.observability.prometheus.cluster_label or ""
    return dashboard_texts(
        tuple(filter(Path.exists, files)), label, has_argocd=cluster.spec.delivery.destination.is_own_cluster
    )
