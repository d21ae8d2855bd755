"""Calls all emitters of a cluster in their order.

This module imports all emitters. Modules that need only the class Component therefore do not import this module.
"""

from collections.abc import Iterator

from gpuc.emit.argocd import argocd, charts
from gpuc.emit.component import needed_components
from gpuc.emit.dashboards import dashboards
from gpuc.emit.metadata import with_metadata
from gpuc.emit.monitoring import monitoring
from gpuc.emit.runbook import runbook
from gpuc.emit.substrate import substrate_output
from gpuc.emit.tenants import tenants
from gpuc.emit.workloads import workloads
from gpuc.manifest.manifest import Artifact
from gpuc.model import Cluster


def artifacts_by_emitter(cluster: Cluster) -> Iterator[list[Artifact]]:
    """Yields the artifacts of one emitter after the other: objects, Helm values and texts.

    The emitters of the components come first, then the substrate, tenants, monitoring, dashboards, the runbook,
    workloads, charts of the spec, and Argo CD. All artifacts of one file come from the same emitter. The objects have
    the labels and annotations of the spec.
    """
    emitters = [component.artifacts for component in needed_components(cluster) if component.artifacts]
    emitters += [substrate_output(cluster).artifacts, tenants, monitoring, dashboards, runbook]
    emitters += [workloads, charts, argocd]
    return (with_metadata(cluster, emitter(cluster)) for emitter in emitters)


def emit(cluster: Cluster) -> list[Artifact]:
    """Returns all artifacts of a cluster (objects, Helm values and texts), in the order of the emitters."""
    return [artifact for artifacts in artifacts_by_emitter(cluster) for artifact in artifacts]
