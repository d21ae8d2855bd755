"""Starts Kueue for `gpuc rehearse --argocd`, where Argo CD installs the chart of Kueue."""

import json
from pathlib import Path

from gpuc.documents.reader import load_yaml
from gpuc_rehearsal.argocd.pods import PodRun, relocated, with_flags
from gpuc_rehearsal.plane.kueue import USER, local_configuration, without_replacement
from gpuc_rehearsal.process import Process

_CONFIG = "config"


def start(run: PodRun) -> Process:
    """Starts Kueue on this machine, with the configuration from its ConfigMap and addresses of this machine."""
    health = run.site.port()
    words = [relocated(word, run.mounted) for word in run.arguments]
    installed = next((word.partition("=")[2] for word in words if word.startswith(f"--{_CONFIG}=")), "")
    configuration = without_replacement(load_yaml(Path(installed).read_text(encoding="utf-8")))
    certificates = run.mounted_folder("/tmp/k8s-webhook-server/serving-certs")
    host, port = run.webhook()
    file = run.folder / "kueue.json"
    file.write_text(json.dumps(local_configuration(configuration, host, port, health, certificates)), encoding="utf-8")
    environment = {"KUBECONFIG": str(run.site.kubeconfig_of("kueue", USER))}
    return run.start("kueue", with_flags(words, {_CONFIG: str(file)}), environment, health)
