"""How the programs of three charts are started from their pods: what a pod says, less what binds it to a pod."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuc.rehearse.argocd.pods import Mount, relocated, service_of, with_flags
from gpuc.rehearse.client import Object
from gpuc.rehearse.plane.karpenter import BATCH_MAX_DURATION
from gpuc.rehearse.plane.kueue import local_configuration
from gpuc.rehearse.plane.settings import Settings
from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.ports import LOOPBACK

_WEBHOOK = "webhook-server"
"""The name of the port of Kueue and of Gatekeeper on which their webhooks listen."""
_CONFIG = "config"


@dataclass(frozen=True)
class PodRun:
    """A pod that is about to become a process."""

    site: Site
    settings: Settings
    pod: Object
    words: list[str]
    variables: dict[str, str]
    mounted: list[tuple[Mount, Path]]
    services: list[Object]
    folder: Path

    def place(self, path: str) -> Path:
        """Where a volume of the pod lies on this machine; a folder of its own where the pod has no such volume."""
        return next((place for mount, place in self.mounted if mount.path == path), self.folder)

    def webhook(self) -> tuple[str, int]:
        """Where the webhooks listen: at the address of their Service, so that nothing has to lead there."""
        return service_of(self.services, self.pod, _WEBHOOK) or (LOOPBACK, self.site.port())


@dataclass(frozen=True)
class Launch:
    """A process to start."""

    program: str
    """Its name among the rehearsal's programs."""
    arguments: list[str]
    environment: dict[str, str]
    ready_url: str


def kueue(run: PodRun) -> Launch:
    """Kueue with the configuration of its ConfigMap."""
    from ruamel.yaml import YAML

    health = run.site.port()
    words = [relocated(word, run.mounted) for word in run.words]
    installed = next((word.partition("=")[2] for word in words if word.startswith(f"--{_CONFIG}=")), "")
    configuration = YAML(typ="safe").load(Path(installed).read_text(encoding="utf-8"))
    certificates = run.place("/tmp/k8s-webhook-server/serving-certs")
    host, port = run.webhook()
    file = run.folder / "kueue.json"
    file.write_text(json.dumps(local_configuration(configuration, host, port, health, certificates)), encoding="utf-8")
    return Launch(
        "kueue",
        with_flags(words, {_CONFIG: str(file)}),
        run.variables | {"KUBECONFIG": str(run.site.kubeconfig)},
        f"http://{LOOPBACK}:{health}/readyz",
    )


def gatekeeper(run: PodRun) -> Launch:
    """Gatekeeper's webhook or its audit, with the duties that the pod gives it."""
    health = run.site.port()
    cache = run.folder / "cache"
    cache.mkdir(exist_ok=True)
    flags = {
        "health-addr": f"{LOOPBACK}:{health}",
        "prometheus-port": str(run.site.port()),
        "cert-dir": str(run.place("/certs")),
        "api-cache-dir": str(cache),
        "shutdown-delay": "0",
    }
    if "--operation=webhook" in run.words:
        host, port = run.webhook()
        flags |= {"host": host, "port": str(port)}
    return Launch(
        "gatekeeper",
        with_flags(run.words, flags),
        run.variables | {"KUBECONFIG": str(run.site.kubeconfig)},
        f"http://{LOOPBACK}:{health}/readyz",
    )


def karpenter(run: PodRun) -> Launch:
    """Karpenter's own controllers over a simulated provider, with the gates of the pod."""
    health = run.site.port()
    types = run.folder / "instance-types.json"
    types.write_text(json.dumps(list(run.settings.instance_types), indent=1) + "\n", encoding="utf-8")
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in sorted(run.settings.karpenter_gates.items()))
    local = {
        "KUBECONFIG": str(run.site.kubeconfig),
        "DISABLE_LEADER_ELECTION": "true",
        "FEATURE_GATES": ",".join(filter(None, (run.variables.get("FEATURE_GATES", ""), gates))),
        "BATCH_MAX_DURATION": BATCH_MAX_DURATION,
        "INSTANCE_TYPES_FILE_PATH": str(types),
        "METRICS_PORT": str(run.site.port()),
        "HEALTH_PROBE_PORT": str(health),
    }
    return Launch("karpenter-kwok", [], run.variables | local, f"http://{LOOPBACK}:{health}/readyz")


PROFILES: Mapping[str, Callable[[PodRun], Launch]] = {"kueue": kueue, "gatekeeper": gatekeeper, "karpenter": karpenter}
"""By name of the chart."""
