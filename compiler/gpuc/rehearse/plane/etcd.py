"""etcd, the storage of the API server."""

from __future__ import annotations

from gpuc.rehearse.plane.site import Site
from gpuc.rehearse.ports import LOOPBACK
from gpuc.rehearse.process import Process


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
