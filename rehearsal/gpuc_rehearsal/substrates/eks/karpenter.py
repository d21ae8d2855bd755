"""Karpenter in a rehearsal, with the simulated provider of kwok."""

from __future__ import annotations

import json
from pathlib import Path

from gpuc_rehearsal.argocd.pods import PodRun
from gpuc_rehearsal.plane.site import Settings, Site
from gpuc_rehearsal.process import LOOPBACK, Process

PROGRAM = "karpenter-kwok"


def start(run: PodRun) -> Process:
    """Starts Karpenter with the simulated provider.

    Feature gates of the settings override feature gates of the pod.
    """
    health = run.site.port()
    local = _environment(run.site, run.settings, run.folder, health)
    local["FEATURE_GATES"] = ",".join(filter(None, (run.variables.get("FEATURE_GATES"), local["FEATURE_GATES"])))
    return run.start(PROGRAM, [], local, health)


def start_program(site: Site, settings: Settings) -> Process:
    """Starts Karpenter with the instance types of the settings. kwok simulates the nodes."""
    health = site.port()
    environment = _environment(site, settings, site.folder, health)
    return site.run(PROGRAM, [], f"http://{LOOPBACK}:{health}/readyz", environment)


def _environment(site: Site, settings: Settings, folder: Path, health: int) -> dict[str, str]:
    """Returns the environment of Karpenter, and writes the instance types to a folder. health is a port."""
    types = folder / "instance-types.json"
    types.write_text(json.dumps(list(settings.instance_types), indent=1) + "\n", encoding="utf-8")
    gates = ",".join(f"{name}={str(enabled).lower()}" for name, enabled in sorted(settings.feature_gates.items()))
    return {
        "KUBECONFIG": str(site.kubeconfig),
        "DISABLE_LEADER_ELECTION": "true",
        "FEATURE_GATES": gates,
        # Karpenter waits until no new pods arrive, but test cases create pods continuously. So the wait is limited.
        "BATCH_MAX_DURATION": "2s",
        "INSTANCE_TYPES_FILE_PATH": str(types),
        "METRICS_PORT": str(site.port()),
        "HEALTH_PROBE_PORT": str(health),
    }
