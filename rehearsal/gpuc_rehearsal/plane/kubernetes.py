"""etcd and Kubernetes: API server, scheduler and controller manager."""

from __future__ import annotations

from gpuc_rehearsal.certificates import write_service_account_key
from gpuc_rehearsal.plane.site import SERVICE_RANGE, Site, flags
from gpuc_rehearsal.process import LOOPBACK, Process

GARBAGE_COLLECTION = {"GOGC": "400", "GOMEMLIMIT": "850MiB"}
"""Environment variables for less frequent garbage collection. With the defaults of Go, garbage collection takes a fifth
of the API server's CPU time."""


def start_etcd(site: Site) -> tuple[Process, str]:
    """Starts etcd and returns (process, URL for clients)."""
    client, peer = (f"http://{LOOPBACK}:{site.port()}" for _ in range(2))
    return site.run("etcd", flags("etcd", site=site, client=client, peer=peer), f"{client}/health"), client


def start_api_server(
    site: Site, etcd_url: str, service_range: str = SERVICE_RANGE, *, service_accounts: bool = False
) -> Process:
    """Starts the API server with RBAC, the default plugins except ServiceAccount, and ExtendedResourceToleration.

    service_accounts enables the admission plugin ServiceAccount, too.
    """
    hosts = (LOOPBACK, "localhost", "kubernetes.default.svc")
    certificate, key = site.authority.issue("apiserver", "kube-apiserver", hosts=hosts)
    proxy_certificate, proxy_key = site.authority.issue("front-proxy", "front-proxy-client")
    accounts = site.certificates / "service-accounts.key"
    write_service_account_key(accounts)
    arguments = flags(
        "kube-apiserver", site=site, etcd=etcd_url, service_range=service_range, accounts=accounts,
        certificate=certificate, key=key, proxy_certificate=proxy_certificate, proxy_key=proxy_key,
    )  # fmt: skip
    if not service_accounts:
        # The plugin ServiceAccount refuses pods until the namespace has its default ServiceAccount.
        arguments.append("--disable-admission-plugins=ServiceAccount")
    return site.run("kube-apiserver", arguments, f"{site.url}/readyz", GARBAGE_COLLECTION)


def start_scheduler(site: Site) -> Process:
    """Starts the scheduler, which marks pods as unschedulable; an autoscaler starts nodes for such pods."""
    port = site.port()
    return site.run("kube-scheduler", flags("controllers", site=site, port=port), f"https://{LOOPBACK}:{port}/healthz")


def start_controller_manager(site: Site, *, daemon_sets: bool = False) -> Process:
    """Starts the controller manager.

    daemon_sets runs the DaemonSet controller too.
    """
    port = site.port()
    # The allocatable resources of simulated nodes already exclude the requests of DaemonSet pods, and these pods
    # would start too late.
    controllers = "*" if daemon_sets else "*,-daemonset-controller"
    own = flags("kube-controller-manager", site=site, controllers=controllers)
    arguments = [*flags("controllers", site=site, port=port), *own]
    return site.run("kube-controller-manager", arguments, f"https://{LOOPBACK}:{port}/healthz")
