"""Command lines and environments for the programs of Kueue, Gatekeeper and Karpenter, derived from their pods."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuc.documents.reader import load_yaml
from gpuc.rehearse.argocd.pods import Mount, relocated, service_of, with_flags
from gpuc.rehearse.client import Object
from gpuc.rehearse.plane.kueue import USER, local_configuration
from gpuc.rehearse.plane.kwok import karpenter_environment
from gpuc.rehearse.plane.site import Settings, Site
from gpuc.rehearse.process import LOOPBACK

_WEBHOOK = "webhook-server"
"""The port name of Kueue's and Gatekeeper's webhooks."""
_CONFIG = "config"


@dataclass(frozen=True)
class PodRun:
    """A pod that will run as a process."""

    site: Site
    settings: Settings
    pod: Object
    arguments: list[str]
    """Arguments of the container's program."""
    variables: dict[str, str]
    """Environment variables of the container."""
    mounted: list[tuple[Mount, Path]]
    """Pairs of a volume mount and its file or folder on this machine."""
    services: list[Object]
    """Services in the namespace of the pod."""
    folder: Path
    """Folder for files of the process."""

    def mounted_folder(self, path: str) -> Path:
        """Returns the local folder of a volume, or the folder of the process if the pod has no such volume."""
        return next((folder for mount, folder in self.mounted if mount.path == path), self.folder)

    def webhook(self) -> tuple[str, int]:
        """Returns the address and the port of the Service, where the webhooks listen because no kube-proxy runs."""
        return service_of(self.services, self.pod, _WEBHOOK) or (LOOPBACK, self.site.port())


@dataclass(frozen=True)
class Launch:
    """The command line and environment of a process."""

    program: str
    """The name of a program that `gpuc tools` builds."""
    arguments: list[str]
    environment: dict[str, str]
    ready_url: str
    """A URL that returns status 200 when the program is ready."""


def kueue(run: PodRun) -> Launch:
    """Returns the command line of Kueue. The configuration is from Kueue's ConfigMap, adapted to this machine."""
    health = run.site.port()
    words = [relocated(word, run.mounted) for word in run.arguments]
    installed = next((word.partition("=")[2] for word in words if word.startswith(f"--{_CONFIG}=")), "")
    configuration = load_yaml(Path(installed).read_text(encoding="utf-8"))
    certificates = run.mounted_folder("/tmp/k8s-webhook-server/serving-certs")
    host, port = run.webhook()
    file = run.folder / "kueue.json"
    file.write_text(json.dumps(local_configuration(configuration, host, port, health, certificates)), encoding="utf-8")
    return Launch(
        "kueue",
        with_flags(words, {_CONFIG: str(file)}),
        run.variables | {"KUBECONFIG": str(run.site.kubeconfig_of("kueue", USER))},
        f"http://{LOOPBACK}:{health}/readyz",
    )


def gatekeeper(run: PodRun) -> Launch:
    """Returns the command line of Gatekeeper's webhook or audit, with the operations of the pod."""
    health = run.site.port()
    cache = run.folder / "cache"
    cache.mkdir(exist_ok=True)
    flags = {
        "health-addr": f"{LOOPBACK}:{health}",
        "prometheus-port": str(run.site.port()),
        "cert-dir": str(run.mounted_folder("/certs")),
        "api-cache-dir": str(cache),
        "shutdown-delay": "0",
    }
    if "--operation=webhook" in run.arguments:
        host, port = run.webhook()
        flags |= {"host": host, "port": str(port)}
    return Launch(
        "gatekeeper",
        with_flags(run.arguments, flags),
        run.variables | {"KUBECONFIG": str(run.site.kubeconfig)},
        f"http://{LOOPBACK}:{health}/readyz",
    )


def karpenter(run: PodRun) -> Launch:
    """Returns the command line of Karpenter with the simulated provider.

    Feature gates of the settings override feature gates of the pod.
    """
    health = run.site.port()
    local = karpenter_environment(run.site, run.settings, run.folder, health)
    local["FEATURE_GATES"] = ",".join(filter(None, (run.variables.get("FEATURE_GATES"), local["FEATURE_GATES"])))
    return Launch("karpenter-kwok", [], run.variables | local, f"http://{LOOPBACK}:{health}/readyz")


PROFILES: Mapping[str, Callable[[PodRun], Launch]] = {"kueue": kueue, "gatekeeper": gatekeeper, "karpenter": karpenter}
"""Functions that return the command line, by name of the chart."""
