"""Starts the processes of Argo CD: redis, the repo server and the application controller."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpuc_rehearsal.plane.site import Site, flags
from gpuc_rehearsal.process import LOOPBACK, Process
from gpuc_rehearsal.programs import ArgoPrograms

RESYNC_SECONDS = 20
"""Interval in which the controller compares Applications with Git. The controller does not notice when
CustomResourceDefinitions become established. So with the default interval of 120 to 180 s, the first sync would wait
that long after every chart with CustomResourceDefinitions."""
RENDER_SECONDS = 180
"""Timeout of requests to the repo server, which renders charts slowly on two busy cores."""


@dataclass(frozen=True)
class Redis:
    """A running redis."""

    process: Process
    address: str
    """host:port."""
    password: str


def start_redis(site: Site, programs: ArgoPrograms) -> Redis:
    """Starts redis with a password and without persistence."""
    port, password = site.port(), secrets.token_hex(16)
    configuration = site.subfolder("redis") / "redis.conf"
    configuration.touch(mode=0o600)
    settings = f"bind {LOOPBACK}\nport {port}\nrequirepass {password}\ndir {configuration.parent}\n"
    configuration.write_text(f'{settings}save ""\nappendonly no\n', encoding="ascii")
    process = site.run("redis", [str(configuration)], _port_probe(port), program=programs.redis)
    return Redis(process, f"{LOOPBACK}:{port}", password)


def start_repo_server(
    site: Site, programs: ArgoPrograms, redis: Redis, proxy: str, hosts: Iterable[str]
) -> tuple[Process, str]:
    """Starts the repo server and returns (process, address).

    The repo server reaches Git and charts through the proxy, and trusts the certificate authority of `site`.

    proxy is the URL of the proxy; hosts are the host names that the proxy serves.
    """
    port, metrics = site.port(), site.port()
    folder = site.subfolder("repo-server")
    trusted, wrappers = site.subfolder("repo-server/tls"), site.subfolder("repo-server/bin")
    for host in hosts:  # like the mounted ConfigMap argocd-tls-certs-cm
        (trusted / host).write_bytes(site.authority.file.read_bytes())
    # This script accepts all commits, because the commits of a rehearsal are not signed.
    script = wrappers / "git-verify-wrapper.sh"
    script.write_text("#!/bin/sh\nexit 0\n", encoding="ascii")
    script.chmod(0o755)
    environment = {
        **_environment(redis, "argocd-repo-server"),
        **{name: str(site.subfolder(f"repo-server/{path}")) for name, path in _FOLDERS.items()},
        "PATH": f"{wrappers}:{programs.folder / 'bin'}:{programs.git.parent}:/usr/bin:/bin",
        "HOME": str(site.subfolder("repo-server/home")),
        "TMPDIR": str(site.subfolder("repo-server/tmp")),
        "ARGOCD_TLS_DATA_PATH": str(trusted),
        "ARGOCD_ASK_PASS_SOCK": str(folder / "ask-pass.sock"),
        "ARGOCD_GPG_ENABLED": "false",
        "SSL_CERT_FILE": str(site.authority.file),
        "GIT_SSL_CAINFO": str(site.authority.file),
        "HTTPS_PROXY": proxy,
        "NO_PROXY": f"{LOOPBACK},localhost",
        "KUBECONFIG": str(site.kubeconfig),
    }
    arguments = flags("argocd-repo-server", port=port, metrics=metrics, redis=redis)
    ready = f"http://{LOOPBACK}:{metrics}/healthz?full=true"
    process = site.run("argocd-repo-server", arguments, ready, environment, programs.path("argocd"))
    return process, f"{LOOPBACK}:{port}"


def start_controller(site: Site, programs: ArgoPrograms, redis: Redis, repo_server: str, namespace: str) -> Process:
    """Starts the application controller on the control plane of `site`.

    repo_server is the address of the repo server; namespace is the namespace of Argo CD.
    """
    metrics = site.port()
    arguments = flags(
        "argocd-application-controller", namespace=namespace, repo_server=repo_server, redis=redis, metrics=metrics,
        render_seconds=RENDER_SECONDS, resync_seconds=RESYNC_SECONDS,
    )  # fmt: skip
    environment = {
        **_environment(redis, "argocd-application-controller"),
        "KUBECONFIG": str(site.kubeconfig),
        "ARGOCD_FAKE_IN_CLUSTER": "true",
        "HOME": str(site.subfolder("controller")),
        "ARGOCD_TLS_DATA_PATH": str(site.subfolder("controller")),
    }
    ready = f"http://{LOOPBACK}:{metrics}/healthz"
    return site.run("argocd-application-controller", arguments, ready, environment, programs.path("argocd"))


_FOLDERS = {
    "ARGOCD_SSH_DATA_PATH": "ssh",
    "ARGOCD_GNUPGHOME": "gnupg",
    "ARGOCD_GPG_DATA_PATH": "gpg",
    "ARGOCD_PLUGINSOCKFILEPATH": "plugins",
    "HELM_CACHE_HOME": "helm/cache",
    "HELM_CONFIG_HOME": "helm/config",
    "HELM_DATA_HOME": "helm/data",
}


def _environment(redis: Redis, component: str) -> dict[str, str]:
    return {"ARGOCD_BINARY_NAME": component, "REDIS_PASSWORD": redis.password}


def _port_probe(port: int) -> Callable[[], bool]:
    """Returns a function that reports whether a program listens on a port of loopback."""

    def probe() -> bool:
        try:
            with socket.create_connection((LOOPBACK, port), timeout=1):
                return True
        except OSError:
            return False

    return probe
