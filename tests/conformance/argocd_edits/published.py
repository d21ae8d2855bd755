"""What edits need before their commits: another version of a chart, and more instance types."""

import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from gpuc.cluster.application import Source
from gpuc.pipeline.stages import CompiledSpec
from gpuc_rehearsal.argocd.charts import read_chart
from gpuc_rehearsal.crds import definitions
from gpuc_rehearsal.plane import READY_SECONDS
from gpuc_rehearsal.plane.kwok import start_kwok
from gpuc_rehearsal.plane.site import with_nodes_of
from gpuc_rehearsal.substitute import settings

if TYPE_CHECKING:
    from gpuc_rehearsal.argocd.hub import ArgoCD


def repackage(argocd: "ArgoCD", source: Source, version: str) -> None:
    """Publishes the chart of a source again with another version."""
    chart = argocd.charts.find(source.chart, source.revision)
    assert chart is not None, "the chart of an Application that is rendered exists"
    folder = Path(tempfile.mkdtemp(dir=argocd.kubeconfig.parent))
    with tarfile.open(chart.file) as archive:
        archive.extractall(folder, filter="data")
    command = [str(argocd.argo.path("helm")), "package", chart.name, "--version", version]
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    argocd.charts.add(read_chart(folder / f"{chart.name}-{version}.tgz"))
    argocd.serve_charts()


def update_instance_types(argocd: "ArgoCD", spec: CompiledSpec) -> None:
    """Adds the instance types of a changed spec to the autoscaler, and its Stages for nodes to kwok.

    Must be called in the main thread, because a program ends with the thread that started the program.
    """
    cluster = argocd.argo_clusters[spec.cluster.name]
    site, kubelet = cluster.plane.site, cluster.kubelet
    current = settings(spec, definitions(site.programs, None, (), outside_charts=True))
    changed = with_nodes_of(kubelet.settings, current)
    if changed.node_stages != kubelet.settings.node_stages:
        site.stop(["kwok"])
        start_kwok(site, changed).wait_ready(READY_SECONDS)
    is_restarted = changed.autoscaler and changed.instance_types != kubelet.settings.instance_types
    kubelet.settings = changed
    for (namespace, _), run in list(kubelet.runs.items()):
        if is_restarted and changed.autoscaler and kubelet.charts[namespace] == changed.autoscaler.component:
            run.template = ""  # the kubelet starts the program again
