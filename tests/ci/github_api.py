"""A GitHub API on this machine, for the comment on a pull request. The tokens have the permissions of their jobs."""

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

BOT = "github-actions[bot]"
PAGE = 100


class GitHub:
    """The pull requests, runs, artifacts and comments of one repository."""

    def __init__(self) -> None:
        self.pulls: list[dict[str, Any]] = []
        self.artifacts: dict[int, list[dict[str, Any]]] = {}
        """The artifacts by run."""
        self.archives: dict[int, bytes] = {}
        self.comments: list[dict[str, Any]] = []
        self.tokens: dict[str, dict[str, str]] = {}
        """The permissions by token."""
        self.requests: list[str] = []
        self.failures = 0
        """The number of requests that the server answers with 502."""
        self.url = ""

    def add_artifact(self, run: int, name: str, files: Mapping[str, bytes]) -> None:
        """Adds an artifact with files."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for file, data in files.items():
                archive.writestr(file, data)
        self.add_archive(run, name, content.getvalue())

    def add_archive(self, run: int, name: str, archive: bytes, *, size: int | None = None) -> None:
        """Adds an artifact with these bytes, of which the API states the size."""
        number = 1000 + len(self.archives)
        self.archives[number] = archive
        row = {"id": number, "name": name, "expired": False, "size_in_bytes": len(archive) if size is None else size}
        self.artifacts.setdefault(run, []).append(row)

    def add_comment(self, pull: int, author: str, body: str) -> dict[str, Any]:
        """Adds a comment and returns it."""
        comment = {"id": 1 + len(self.comments), "issue": pull, "user": {"login": author}, "body": body}
        self.comments.append(comment)
        return comment

    def answer(self, method: str, path: str, query: Mapping[str, str], body: Any, token: str) -> tuple[int, Any]:
        """The status and the content of the answer to a request."""
        self.requests.append(f"{method} {path}")
        if self.failures:
            self.failures -= 1
            return 502, {}
        for verb, pattern, permission, handler in self._routes():
            if verb == method and (match := re.fullmatch(rf"/repos/acme/fleet/{pattern}", path)):
                wanted, level = permission
                granted = self.tokens.get(token, {}).get(wanted, "none")
                if ("none", "read", "write").index(granted) < ("none", "read", "write").index(level):
                    return 403, {"message": "Resource not accessible by integration"}
                return handler(match, query, body)
        return 404, {"message": "Not Found"}

    def _routes(self) -> list[tuple[str, str, tuple[str, str], Callable[..., tuple[int, Any]]]]:
        return [
            ("GET", "pulls", ("pull-requests", "read"), self._pulls),
            ("GET", r"actions/runs/(\d+)/artifacts", ("actions", "read"), self._artifacts),
            ("GET", r"actions/artifacts/(\d+)/zip", ("actions", "read"), self._zip),
            ("GET", r"issues/(\d+)/comments", ("pull-requests", "read"), self._list),
            ("POST", r"issues/(\d+)/comments", ("pull-requests", "write"), self._create),
            ("PATCH", r"issues/comments/(\d+)", ("pull-requests", "write"), self._edit),
        ]

    def _pulls(self, match: re.Match[str], query: Mapping[str, str], body: Any) -> tuple[int, Any]:
        rows = [pull for pull in self.pulls if f"{pull['head']['user']}:{pull['head']['ref']}" == query["head"]]
        return 200, _page([row for row in rows if row["state"] == query["state"]], query)

    def _artifacts(self, match: re.Match[str], query: Mapping[str, str], body: Any) -> tuple[int, Any]:
        rows = [row for row in self.artifacts.get(int(match[1]), []) if row["name"] == query["name"]]
        return 200, {"total_count": len(rows), "artifacts": rows}

    def _zip(self, match: re.Match[str], query: Mapping[str, str], body: Any) -> tuple[int, Any]:
        return 302, f"{self.url}/storage/{match[1]}?signature=x"

    def _list(self, match: re.Match[str], query: Mapping[str, str], body: Any) -> tuple[int, Any]:
        return 200, _page([row for row in self.comments if row["issue"] == int(match[1])], query)

    def _create(self, match: re.Match[str], query: Mapping[str, str], body: Any) -> tuple[int, Any]:
        assert len(body["body"]) <= 65_536
        return 201, self.add_comment(int(match[1]), BOT, body["body"])

    def _edit(self, match: re.Match[str], query: Mapping[str, str], body: Any) -> tuple[int, Any]:
        comment = next(row for row in self.comments if row["id"] == int(match[1]))
        comment["body"] = body["body"]
        return 200, comment


def _page(rows: list[Any], query: Mapping[str, str]) -> list[Any]:
    size, page = int(query.get("per_page", "30")), int(query.get("page", "1"))
    assert size <= PAGE
    return rows[(page - 1) * size : page * size]


@contextmanager
def served(github: GitHub) -> Iterator[GitHub]:
    """Serves the API on the loopback interface. The storage server refuses requests with a token."""

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            parts = urlsplit(self.path)
            if parts.path.startswith("/storage/"):
                archive = github.archives[int(parts.path.rpartition("/")[2])]
                return self._send(400 if self.headers["Authorization"] else 200, archive)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            data = self.rfile.read(int(self.headers["Content-Length"] or 0))
            token = (self.headers["Authorization"] or "").removeprefix("Bearer ")
            status, content = github.answer(self.command, parts.path, query, json.loads(data) if data else None, token)
            if status == 302:
                return self._send(302, b"", content)
            return self._send(status, json.dumps(content).encode())

        def _send(self, status: int, content: bytes, location: str = "") -> None:
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = _handle  # noqa: N815

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    github.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield github
    finally:
        server.shutdown()
        server.server_close()
