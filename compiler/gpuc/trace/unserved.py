"""Objects of a file that are meant as workloads, but from which no pods can be read."""

from __future__ import annotations

from collections.abc import Mapping

from gpuc.diagnostics.spelling import misspelt
from gpuc.kubernetes.pod_template import TEMPLATES
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import group
from gpuc.objects.pods import pods_of
from gpuc.trace.steps import Stage, Step
from gpuc.trace.workload import Workload

_SERVED: Mapping[str, str] = {
    "Pod": "v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
}
"""The only apiVersion of each built-in kind of workloads.

Kubernetes 1.16 removed extensions/v1beta1, apps/v1beta1 and apps/v1beta2 of these kinds; 1.25 removed batch/v1beta1.

Source: k8s.io/api v0.35.4 apps/v1, batch/v1, core/v1 (register.go); Kubernetes documentation, Deprecated API Migration
Guide
"""
_NO_PODS = ("PodTemplate",)
"""Kinds with a pod template from which no controller creates pods."""


def unserved(manifest: Manifest) -> Step | None:
    """Returns the failed step for a built-in kind of workloads in an apiVersion that the API server does not serve.

    Returns None for a served apiVersion, and for kinds of CustomResourceDefinitions.
    """
    served = _SERVED.get(manifest.kind, manifest.api)
    if manifest.api == served or "." in group(manifest):
        return None
    message = f"the API server does not serve kind {manifest.kind} in apiVersion {manifest.api}"
    return Step(Stage.API, "failed", message, fix=f"set apiVersion to {served}", field=("apiVersion",))


def workload_without_pods(manifest: Manifest, document: Body) -> Workload | None:
    """Returns a workload without pod sets for an object of a built-in kind of workloads; None for other kinds.

    The API server refuses the object, because the apiVersion is wrong or because the object has no pod template.
    """
    if manifest.kind not in _SERVED or "." in group(manifest):
        return None
    api_group = group(manifest)
    return Workload((), manifest.namespace, "", manifest.kind, api_group, manifest.name, object=document)


def why_not_traced(manifest: Manifest) -> str:
    """Returns the reason why an object with pods, or perhaps with pods, is not traced; empty for an object without."""
    if manifest.kind == "TrainJob":
        return "its pods come from a runtime: trace the JobSet that the TrainJob creates"
    if any(pods_of(manifest)) and manifest.kind not in _NO_PODS:
        return f"gpuc does not trace kind {manifest.kind}"
    kinds = {kind.rpartition("/")[2] for kind in TEMPLATES}
    if manifest.kind not in kinds and (meant := misspelt(manifest.kind, sorted(kinds))):
        return f"the kind {manifest.kind} is unknown (did you mean {meant}?)"
    if f"{group(manifest)}/{manifest.kind}" in TEMPLATES:
        return "gpuc finds no pod template in the object"
    return ""
