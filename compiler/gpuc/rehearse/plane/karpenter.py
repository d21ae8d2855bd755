"""Karpenter with its simulated cloud provider."""

from __future__ import annotations

import json

from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.ports import LOOPBACK
from gpuc.rehearse.process import Process

BATCH_MAX_DURATION = "2s"


def start_karpenter(site: Site, settings: Settings) -> Process:
    """Starts Karpenter with the instance types of the settings. kwok simulates the nodes."""
    health = site.port()
    types = site.folder / "instance-types.json"
    types.write_text(json.dumps(list(settings.instance_types), indent=1) + "\n", encoding="utf-8")
    gates = ",".join(f"{name}={str(enabled).lower()}" for name, enabled in sorted(settings.karpenter_gates.items()))
    environment = {
        "KUBECONFIG": str(site.kubeconfig),
        "DISABLE_LEADER_ELECTION": "true",
        "FEATURE_GATES": gates,
        # Karpenter waits until no new pods arrive, but test cases create pods continuously. So the wait is limited.
        "BATCH_MAX_DURATION": BATCH_MAX_DURATION,
        "INSTANCE_TYPES_FILE_PATH": str(types),
        "METRICS_PORT": str(site.port()),
        "HEALTH_PROBE_PORT": str(health),
    }
    return site.run("karpenter-kwok", [], f"http://{LOOPBACK}:{health}/readyz", environment)
