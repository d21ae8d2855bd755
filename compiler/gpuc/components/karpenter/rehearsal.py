"""Karpenter in a rehearsal, with the simulated provider."""

from __future__ import annotations

from gpuc.rehearse.argocd.pods import Launch, PodRun
from gpuc.rehearse.plane.kwok import karpenter_environment
from gpuc.rehearse.process import LOOPBACK


def launch(run: PodRun) -> Launch:
    """Returns the command line of Karpenter with the simulated provider.

    Feature gates of the settings override feature gates of the pod.
    """
    health = run.site.port()
    local = karpenter_environment(run.site, run.settings, run.folder, health)
    local["FEATURE_GATES"] = ",".join(filter(None, (run.variables.get("FEATURE_GATES"), local["FEATURE_GATES"])))
    return Launch("karpenter-kwok", [], run.variables | local, f"http://{LOOPBACK}:{health}/readyz")
