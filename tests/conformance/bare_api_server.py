"""An API server without controllers and webhooks, for dry runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

from gpuc.manifest.cache_folder import cache_folder
from gpuc_rehearsal.client import ApiError, Client, Object
from gpuc_rehearsal.plane import start_api_server, start_etcd
from gpuc_rehearsal.plane.site import Site
from gpuc_rehearsal.process import run_folder, stop
from gpuc_rehearsal.programs import Programs

READY_SECONDS = 120


@contextmanager
def bare_api_server(programs: Programs) -> Iterator[Client]:
    """Starts etcd and an API server, without webhooks."""
    with bare_plane(programs) as (_, client):
        yield client


@contextmanager
def bare_plane(programs: Programs) -> Iterator[tuple[Site, Client]]:
    """Starts etcd and an API server, without webhooks. The site has a kubeconfig."""
    with run_folder(Path(cache_folder("rehearse"))) as folder:
        site = Site(programs, folder)
        try:
            etcd, url = start_etcd(site)
            etcd.wait_ready(READY_SECONDS)
            start_api_server(site, url).wait_ready(READY_SECONDS)
            client = Client(site.url, site.authority.file, site.admin)
            client.wait_for("v1", "Namespace", "default", lambda _: True, READY_SECONDS)
            yield site, client
        finally:
            stop(reversed(site.processes))


def dry_run(client: Client, document: Object) -> Object | ApiError:
    """Creates an object as a dry run; returns the object with its defaults, or the refusal of the API server.

    Raises:
        ApiError: if the API server does not know the kind or the namespace, or does not answer in time.
    """
    try:
        return client.create(document, dry_run=True)
    except ApiError as error:
        if error.code in (HTTPStatus.NOT_FOUND, HTTPStatus.GATEWAY_TIMEOUT):
            raise
        return error
