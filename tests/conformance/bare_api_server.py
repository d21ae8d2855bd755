"""An API server without controllers and webhooks, for dry runs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path

from gpuc.manifest.cache_folder import cache_folder
from gpuc_rehearsal.client import ApiError, Client, Object, is_true
from gpuc_rehearsal.plane import start_api_server, start_etcd
from gpuc_rehearsal.plane.site import Site
from gpuc_rehearsal.process import run_folder, stop
from gpuc_rehearsal.programs import Programs

READY_SECONDS = 120
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


@contextmanager
def bare_plane(programs: Programs, *, service_accounts: bool = False) -> Iterator[tuple[Site, Client]]:
    """Starts etcd and an API server, without webhooks. The site has a kubeconfig.

    service_accounts enables the admission plugin ServiceAccount, too.
    """
    with run_folder(Path(cache_folder("rehearse"))) as folder:
        site = Site(programs, folder)
        try:
            etcd, url = start_etcd(site)
            etcd.wait_ready(READY_SECONDS)
            start_api_server(site, url, service_accounts=service_accounts).wait_ready(READY_SECONDS)
            client = Client(site.url, site.authority.file, site.admin)
            client.wait_for("v1", "Namespace", "default", lambda _: True, READY_SECONDS)
            yield site, client
        finally:
            stop(reversed(site.processes))


def install(client: Client, body: Object | bytes) -> None:
    """Creates a CustomResourceDefinition; bytes are its YAML text."""
    address = f"{client.path(*CRD)}?fieldManager=gpuc"
    if isinstance(body, bytes):
        client.send("POST", address, body, "application/yaml")
    else:
        client.send("POST", address, json.dumps(body).encode(), "application/json")


def wait_established(client: Client) -> None:
    """Waits until all CustomResourceDefinitions are established and their names accepted."""
    for definition in client.list_all(*CRD):
        for kind in ("Established", "NamesAccepted"):
            client.wait_for(*CRD, definition["metadata"]["name"], partial(is_true, kind=kind), READY_SECONDS)


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
