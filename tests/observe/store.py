"""A real Prometheus on the loopback interface, which scrapes pages and evaluates the rules of clusters."""

import json
import math
import re
import select
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

COUNTER = re.compile(r"^(\w+(?:_total|_bucket|_count|_sum)(?:\{.*\})?) (\S+)$", re.MULTILINE)
HONORED = ("dcgm", "state")
"""The targets whose own labels namespace, pod and container count, as in their ServiceMonitors."""
Result = list[dict[str, Any]]


@dataclass(frozen=True)
class Store:
    """A running Prometheus."""

    address: str

    def ask(self, query: str) -> Result:
        """Returns the series of a query that have a number now.

        Raises:
            urllib.error.HTTPError: if the query is wrong.
        """
        found: Result = self._get("query", query=query)["result"]
        return [series for series in found if not math.isnan(float(series["value"][1]))]

    def values(self, series: str, label: str) -> list[str]:
        """Returns the values of a label, as the function label_values of Grafana's variables does."""
        found = self._get("series", **{"match[]": series})
        return sorted({row[label] for row in found if label in row})

    def broken_rules(self) -> list[str]:
        """Returns the errors of rules."""
        groups = self._get("rules")["groups"]
        return [
            f"{rule['name']}: {rule['lastError']}"
            for group in groups
            for rule in group["rules"]
            if rule.get("lastError")
        ]

    def _get(self, what: str, **parameters: str) -> Any:
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"{self.address}/api/v1/{what}?{query}", timeout=30) as answer:
            return json.load(answer)["data"]


@contextmanager
def running(
    program: Path, folder: Path, pages: dict[str, dict[str, str]], rules: list[dict[str, Any]], label: str
) -> Iterator[Store]:
    """Runs Prometheus until the block ends.

    Args:
        pages: the pages by cluster and target. Their counters grow with every scrape.
        rules: the groups of rules of all clusters.
        label: the label that the agent of a cluster adds to all series; empty for none.
    """
    with _exporter(pages) as exporter:
        (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": rules}))
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(_configuration(exporter, pages, label)))
        log = (folder / "log").open("w+b")
        listen = ("--web.listen-address=127.0.0.1:0", f"--storage.tsdb.path={folder}/data")
        process = subprocess.Popen(
            (program, f"--config.file={folder}/prometheus.yaml", *listen), stdout=log, stderr=log
        )
        try:
            yield Store(_address(process, folder / "log"))
        finally:
            process.terminate()
            process.wait()
            log.close()


@contextmanager
def _exporter(pages: dict[str, dict[str, str]]) -> Iterator[str]:
    """Serves /CLUSTER/TARGET, and yields the address. The counters of a page grow by 1 with each scrape."""
    scrapes: dict[str, int] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _, cluster, target = self.path.split("/")
            number = scrapes[self.path] = scrapes.get(self.path, 0) + 1
            page = COUNTER.sub(lambda row: f"{row[1]} {float(row[2]) + number}", pages[cluster][target])
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_request(self, *_: object) -> None:
            """Writes no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _configuration(exporter: str, pages: dict[str, dict[str, str]], label: str) -> dict[str, Any]:
    """The configuration, with the labels of a target that the Prometheus operator adds."""
    jobs = []
    for cluster, targets in pages.items():
        for target in targets:
            labels = {"namespace": f"{target}-system", "pod": target, "container": target, "job": target}
            labels |= {label: cluster} if label else {}
            jobs.append(
                {
                    "job_name": f"{cluster}-{target}",
                    "metrics_path": f"/{cluster}/{target}",
                    "honor_labels": target in HONORED,
                    "static_configs": [{"targets": [exporter], "labels": labels}],
                }
            )
    times = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    return {"global": times, "rule_files": ["rules.yaml"], "scrape_configs": jobs}


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    """The address of Prometheus when it answers. The kernel chooses the port, which is in the log."""
    while process.poll() is None:
        found = re.search(r'msg="Listening on" address=(\S+)', log.read_text("utf-8"))
        if found and "Server is ready" in log.read_text("utf-8"):
            return f"http://{found[1]}"
        select.select([], [], [], 0.1)
    raise RuntimeError(log.read_text("utf-8"))
