"""Kubernetes itself: API server, scheduler, controller manager."""

from __future__ import annotations

from gpuc.rehearse.certificates import service_account_key
from gpuc.rehearse.plane.settings import SERVICE_RANGE
from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.ports import LOOPBACK
from gpuc.rehearse.process import Process

SERVICE_ACCOUNT_ISSUER = "https://kubernetes.default.svc"
COLLECTOR = {"GOGC": "400", "GOMEMLIMIT": "850MiB"}
"""Go's garbage collector took a fifth of the API server's time: it runs less often, until memory is short."""


def start_api_server(site: Site, etcd_url: str, service_range: str = SERVICE_RANGE) -> Process:
    """The API server, with RBAC and all admission that it has by default but one."""
    hosts = (LOOPBACK, "localhost", "kubernetes.default.svc")
    certificate, key = site.authority.issue("apiserver", "kube-apiserver", hosts=hosts)
    proxy_certificate, proxy_key = site.authority.issue("front-proxy", "front-proxy-client")
    accounts = site.certificates / "service-accounts.key"
    service_account_key(accounts)
    arguments = [
        f"--etcd-servers={etcd_url}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={site.api_server_port}",
        f"--cert-dir={site.certificates}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        f"--client-ca-file={site.authority.file}",
        f"--requestheader-client-ca-file={site.authority.file}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={proxy_certificate}",
        f"--proxy-client-key-file={proxy_key}",
        f"--service-account-issuer={SERVICE_ACCOUNT_ISSUER}",
        f"--service-account-key-file={accounts}",
        f"--service-account-signing-key-file={accounts}",
        f"--service-cluster-ip-range={service_range}",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        # A loopback address is no legal endpoint: without this the log fills with its refusal.
        "--endpoint-reconciler-type=none",
        # It would refuse every pod until the controller manager has made the namespace's default account.
        "--disable-admission-plugins=ServiceAccount",
        # Requests that wait for their turn on two cores would look like refusals.
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=0",
        "--max-mutating-requests-inflight=0",
    ]
    return site.run("kube-apiserver", arguments, f"{site.url}/readyz", COLLECTOR)


def start_scheduler(site: Site) -> Process:
    """The scheduler: it alone marks a pod unschedulable, which is what Karpenter looks for."""
    port = site.port()
    arguments = [*_logins(site, port), "--leader-elect=false", "--kube-api-qps=200", "--kube-api-burst=400"]
    return site.run("kube-scheduler", arguments, f"https://{LOOPBACK}:{port}/healthz")


def start_controller_manager(site: Site, *, daemon_pods: bool = False) -> Process:
    """The controllers of Jobs, quotas, namespaces, garbage; that of DaemonSets only where their pods are wanted."""
    port = site.port()
    # Nodes say by themselves what is left beside their agents, and the pods of agents would come too late.
    controllers = "*" if daemon_pods else "*,-daemonset-controller"
    arguments = [
        *_logins(site, port),
        "--leader-elect=false",
        f"--controllers={controllers}",
        # A node whose heartbeat comes late on a busy machine is not lost. Its pods would be marked as not ready, and
        # the simulated kubelet never marks them as ready again.
        "--node-monitor-grace-period=30m",
        f"--service-account-private-key-file={site.certificates / 'service-accounts.key'}",
        f"--root-ca-file={site.authority.file}",
        "--use-service-account-credentials=false",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]
    return site.run("kube-controller-manager", arguments, f"https://{LOOPBACK}:{port}/healthz")


def _logins(site: Site, port: int) -> list[str]:
    logins = [f"--{name}={site.kubeconfig}" for name in _LOGINS]
    return [*logins, f"--bind-address={LOOPBACK}", f"--secure-port={port}", f"--cert-dir={site.certificates}"]


_LOGINS = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
