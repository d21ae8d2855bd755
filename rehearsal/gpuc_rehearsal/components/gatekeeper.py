"""Starts Gatekeeper for `gpuc rehearse --argocd`, where Argo CD installs the chart of Gatekeeper."""

from gpuc_rehearsal.argocd.pods import PodRun, with_flags
from gpuc_rehearsal.process import LOOPBACK, Process


def start(run: PodRun) -> Process:
    """Starts Gatekeeper on this machine in place of one of its pods: as the webhook, or as the audit."""
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
    return run.start("gatekeeper", with_flags(run.arguments, flags), {"KUBECONFIG": str(run.site.kubeconfig)}, health)
