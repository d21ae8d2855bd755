"""A replacement for Kueue's visibility server, which serves the discovery of the APIs without any resources."""

from __future__ import annotations

import json
from collections.abc import Callable

from gpuc.rehearse.argocd.tls_server import JsonHandler, start_server
from gpuc.rehearse.certificates import Authority

GROUP = "visibility.kueue.x-k8s.io"


def serve_visibility(authority: Authority, address: str, port: int) -> Callable[[], None]:
    """Starts a server in a thread. Returns a function that stops the server.

    address and port: the address and the port of the Service. authority issues the certificate of the server.
    """
    certificate, key = authority.issue("visibility", GROUP, hosts=(address,))
    return start_server("visibility", (address, port), (certificate, key), _Handler)


def discovery(path: str) -> tuple[int, bytes]:
    """Returns (status code, content) of the response for a path."""
    segments = path.partition("?")[0].strip("/").split("/")
    if segments[:2] != ["apis", GROUP] or len(segments) != 3:
        return 404, b"{}"
    listed = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{segments[2]}", "resources": []}
    return 200, json.dumps(listed).encode()


class _Handler(JsonHandler):
    def do_GET(self) -> None:  # noqa: N802
        self.answer(*discovery(self.path))
