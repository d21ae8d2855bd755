"""etcd and Kubernetes: API server, scheduler and controller manager."""

from __future__ import annotations

from gpuc.rehearse.certificates import write_service_account_key
from gpuc.rehearse.plane.site import SERVICE_RANGE, Site
from gpuc.rehearse.process import LOOPBACK, Process

SERVICE_ACCOUNT_ISSUER = "https://kubernetes.default.svc"
GARBAGE_COLLECTION = {"GOGC": "400", "GOMEMLIMIT": "850MiB"}
"""Environment variables for less frequent garbage collection. With the defaults of Go, garbage collection takes a fifth
of the API server's CPU time."""

_EKS_PLUGINS = "--enable-admission-plugins=ExtendedResourceToleration"
"""A plugin that EKS enables: the tolerations of a pod with devices are those that the policies see.

Source: https://docs.aws.amazon.com/eks/latest/userguide/platform-versions.html
"""


def start_etcd(site: Site) -> tuple[Process, str]:
    """Starts etcd and returns (process, URL for clients). fsync is off, because no data is needed after the run."""
    client, peer = (f"http://{LOOPBACK}:{site.port()}" for _ in range(2))
    arguments = [
        f"--data-dir={site.folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]
    return site.run("etcd", arguments, f"{client}/health"), client


def start_api_server(
    site: Site, etcd_url: str, service_range: str = SERVICE_RANGE, *, service_accounts: bool = False
) -> Process:
    """Starts the API server with RBAC, the default admission plugins except ServiceAccount, and those of EKS.

    service_accounts enables the admission plugin ServiceAccount, too.
    """
    hosts = (LOOPBACK, "localhost", "kubernetes.default.svc")
    certificate, key = site.authority.issue("apiserver", "kube-apiserver", hosts=hosts)
    proxy_certificate, proxy_key = site.authority.issue("front-proxy", "front-proxy-client")
    accounts = site.certificates / "service-accounts.key"
    write_service_account_key(accounts)
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
        # Endpoints must not contain a loopback address; without this flag the log fills with errors.
        "--endpoint-reconciler-type=none",
        _EKS_PLUGINS,
        # The plugin ServiceAccount refuses pods until the namespace has its default ServiceAccount.
        *([] if service_accounts else ["--disable-admission-plugins=ServiceAccount"]),
        # On two cores, queued requests would time out and look like refusals.
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=0",
        "--max-mutating-requests-inflight=0",
    ]
    return site.run("kube-apiserver", arguments, f"{site.url}/readyz", GARBAGE_COLLECTION)


def start_scheduler(site: Site) -> Process:
    """Starts the scheduler, which marks pods as unschedulable; Karpenter starts nodes for such pods."""
    port = site.port()
    arguments = [*_kubeconfig_flags(site, port), "--leader-elect=false", "--kube-api-qps=200", "--kube-api-burst=400"]
    return site.run("kube-scheduler", arguments, f"https://{LOOPBACK}:{port}/healthz")


def start_controller_manager(site: Site, *, daemon_sets: bool = False) -> Process:
    """Starts the controller manager.

    daemon_sets runs the DaemonSet controller too.
    """
    port = site.port()
    # The allocatable resources of simulated nodes already exclude the requests of DaemonSet pods, and these pods
    # would start too late.
    controllers = "*" if daemon_sets else "*,-daemonset-controller"
    arguments = [
        *_kubeconfig_flags(site, port),
        "--leader-elect=false",
        f"--controllers={controllers}",
        # Heartbeats may be late on a busy machine. Then the controller marks the pods of the node as not ready, and
        # kwok never marks these pods as ready again.
        "--node-monitor-grace-period=30m",
        f"--service-account-private-key-file={site.certificates / 'service-accounts.key'}",
        f"--root-ca-file={site.authority.file}",
        # As on EKS, every controller has the user name of its ServiceAccount. Policies recognize pods of Jobs by it.
        "--use-service-account-credentials=true",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
    ]
    return site.run("kube-controller-manager", arguments, f"https://{LOOPBACK}:{port}/healthz")


def _kubeconfig_flags(site: Site, port: int) -> list[str]:
    names = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
    kubeconfigs = [f"--{name}={site.kubeconfig}" for name in names]
    return [*kubeconfigs, f"--bind-address={LOOPBACK}", f"--secure-port={port}", f"--cert-dir={site.certificates}"]
