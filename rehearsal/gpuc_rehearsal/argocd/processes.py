"""Starts the processes of Argo CD: redis, the repo server and the application controller."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from gpuc_rehearsal.plane import READY_SECONDS
from gpuc_rehearsal.plane.site import Site, flags
from gpuc_rehearsal.process import LOOPBACK
from gpuc_rehearsal.programs import ArgoPrograms

RESYNC_SECONDS = 20
"""Interval in which the controller compares Applications with Git. The controller does not notice when
CustomResourceDefinitions become established. So with the default interval of 120 to 180 s, the first sync would wait
that long after every chart with CustomResourceDefinitions."""
RENDER_SECONDS = 180
"""Timeout of requests to the repo server, which renders charts slowly on two busy cores."""


class Redis(NamedTuple):
    """A running redis."""

    address: str
    """host:port."""
    password: str


def start_redis(site: Site, programs: ArgoPrograms) -> Redis:
    """Starts redis with a password and without persistence, and waits until it is ready."""
    port, password = site.port(), secrets.token_hex(16)
    configuration = site.subfolder("redis") / "redis.conf"
    configuration.touch(mode=0o600)
    settings = f"bind {LOOPBACK}\nport {port}\nrequirepass {password}\ndir {configuration.parent}\n"
    configuration.write_text(f'{settings}save ""\nappendonly no\n', encoding="ascii")
    process = site.run("redis", [str(configuration)], partial(_listens, port), program=programs.redis)
    process.wait_ready(READY_SECONDS)
    return Redis(f"{LOOPBACK}:{port}", password)


def start_repo_server(site: Site, programs: ArgoPrograms, redis: Redis, proxy: str, hosts: Iterable[str]) -> str:
    """Starts the repo server, waits until it is ready, and returns its address.

    The repo server reaches `hosts` through the proxy with a URL, and trusts the certificate authority of `site`.
    """
    port, metrics = site.port(), site.port()
    folders = {name: site.subfolder(f"repo-server/{path}") for name, path in _FOLDERS.items()}
    for host in hosts:  # like the mounted ConfigMap argocd-tls-certs-cm
        (folders["ARGOCD_TLS_DATA_PATH"] / host).write_bytes(site.authority.file.read_bytes())
    # This script accepts all commits, because the commits of a rehearsal are not signed.
    script = site.subfolder("repo-server/bin") / "git-verify-wrapper.sh"
    script.write_text("#!/bin/sh\nexit 0\n", encoding="ascii")
    script.chmod(0o755)
    environment = {
        **{name: str(folder) for name, folder in folders.items()},
        "PATH": f"{script.parent}:{programs.folder / 'bin'}:{programs.git.parent}:/usr/bin:/bin",
        "ARGOCD_ASK_PASS_SOCK": str(site.subfolder("repo-server") / "ask-pass.sock"),
        "ARGOCD_GPG_ENABLED": "false",
        "SSL_CERT_FILE": str(site.authority.file),
        "GIT_SSL_CAINFO": str(site.authority.file),
        "HTTPS_PROXY": proxy,
        "NO_PROXY": f"{LOOPBACK},localhost",
    }
    arguments = flags("argocd-repo-server", port=port, metrics=metrics, redis=redis)
    ready = f"http://{LOOPBACK}:{metrics}/healthz?full=true"
    _start(site, programs, "argocd-repo-server", arguments, ready, redis, environment)
    return f"{LOOPBACK}:{port}"


def start_controller(site: Site, programs: ArgoPrograms, redis: Redis, repo_server: str, namespace: str) -> None:
    """Starts the application controller on the control plane of `site`, and waits until it is ready.

    repo_server is the address of the repo server; namespace is the namespace of Argo CD.
    """
    name, metrics, folder = "argocd-application-controller", site.port(), str(site.subfolder("controller"))
    arguments = flags(
        name, namespace=namespace, repo_server=repo_server, redis=redis, metrics=metrics,
        render_seconds=RENDER_SECONDS, resync_seconds=RESYNC_SECONDS,
    )  # fmt: skip
    environment = {"ARGOCD_FAKE_IN_CLUSTER": "true", "HOME": folder, "ARGOCD_TLS_DATA_PATH": folder}
    _start(site, programs, name, arguments, f"http://{LOOPBACK}:{metrics}/healthz", redis, environment)


_FOLDERS = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "ARGOCD_TLS_DATA_PATH": "tls",
    "ARGOCD_SSH_DATA_PATH": "ssh",
    "ARGOCD_GNUPGHOME": "gnupg",
    "ARGOCD_GPG_DATA_PATH": "gpg",
    "ARGOCD_PLUGINSOCKFILEPATH": "plugins",
    "HELM_CACHE_HOME": "helm/cache",
    "HELM_CONFIG_HOME": "helm/config",
    "HELM_DATA_HOME": "helm/data",
}
"""Folders of the repo server by environment variable."""


def _start(
    site: Site, programs: ArgoPrograms, name: str, arguments: list[str], ready: str, redis: Redis, own: dict[str, str]
) -> None:
    common = {"ARGOCD_BINARY_NAME": name, "REDIS_PASSWORD": redis.password, "KUBECONFIG": str(site.kubeconfig)}
    site.run(name, arguments, ready, common | own, programs.path("argocd")).wait_ready(READY_SECONDS)


def _listens(port: int) -> bool:
    """Returns whether a program listens on a port of loopback."""
    with suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False
