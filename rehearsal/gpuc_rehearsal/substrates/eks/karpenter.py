"""Karpenter in a rehearsal, with the simulated provider."""

from __future__ import annotations

from gpuc_rehearsal.argocd.pods import PodRun
from gpuc_rehearsal.plane.kwok import karpenter_environment
from gpuc_rehearsal.process import Process


def start(run: PodRun) -> Process:
    """Starts Karpenter with the simulated provider.

    Feature gates of the settings override feature gates of the pod.
    """
    health = run.site.port()
    local = karpenter_environment(run.site, run.settings, run.folder, health)
    local["FEATURE_GATES"] = ",".join(filter(None, (run.variables.get("FEATURE_GATES"), local["FEATURE_GATES"])))
    return run.start("karpenter-kwok", [], local, health)
