"""The programs of the tests of notifications: the converter of the Prometheus operator, Alertmanager and amtool.

With GPUC_OBSERVE=1, which `make observe` sets, the tests build the converter with Go, once for each version. Without it
they use what is there, and else are skipped.
"""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from gpuc.manifest.cache_folder import cache_folder
from tests.observe.programs import MISSING, find

CONVERT = Path(__file__).with_name("convert")
PACKAGE = "prometheus-alertmanager"
MAY_FETCH = os.environ.get("GPUC_OBSERVE") == "1"
NOT_BUILT = "the converter was not built: run `make observe` (needs Go, and some minutes once)"
Labels = Mapping[str, str]


def alertmanager_programs() -> tuple[Path, Path]:
    """Returns Alertmanager and amtool from PATH or from the unpacked package of Debian; skips the test without them."""
    server, tool = find(PACKAGE), find("amtool")
    if server is None or tool is None:
        pytest.skip(MISSING.format(PACKAGE))
    return server, tool


def converter_file() -> Path:
    """Returns where the program is, or will be, that converts with the code of the operator."""
    pins = b"".join((CONVERT / name).read_bytes() for name in ("go.mod", "go.sum", "main.go"))
    return Path(cache_folder("tools")) / "convert" / hashlib.sha256(pins).hexdigest()[:16] / "convert"


def build_converter() -> None:
    """Builds the converter, if it was not built and Go is found."""
    program, go = converter_file(), shutil.which("go") or "/usr/local/go/bin/go"
    if not program.exists() and os.access(go, os.X_OK):
        subprocess.run((go, "build", "-p", "2", "-ldflags=-s -w", "-o", program, "."), cwd=CONVERT, check=True)


def converter() -> Path:
    """Returns the converter; skips the test without it."""
    if MAY_FETCH:
        build_converter()
    if not converter_file().exists():
        pytest.skip(NOT_BUILT)
    return converter_file()


def converted(program: Path, strategy: str, version: str, objects: Sequence[Mapping[str, Any]]) -> str:
    """Returns the configuration that the operator makes for an Alertmanager in namespace monitoring.

    Raises:
        subprocess.CalledProcessError: when the operator refuses an object.
    """
    text = "\n---\n".join(yaml.safe_dump(item) for item in objects)
    command = (str(program), strategy, "monitoring", version)
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=120).stdout


@contextmanager
def running(program: Path, configuration: str, folder: Path) -> Iterator[str]:
    """Starts an Alertmanager, and yields its URL. It ends with the block, before it sends a notification."""
    (folder / "alertmanager.yaml").write_text(configuration)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    options = (f"--config.file={folder}/alertmanager.yaml", f"--storage.path={folder}/data")
    network = (f"--web.listen-address={address}", "--cluster.listen-address=")
    command, home = (program, *options, *network), program.parents[2]
    with (folder / "log").open("w") as log, subprocess.Popen(command, cwd=home, stderr=log) as server:
        try:
            url = f"http://{address}/api/v2"
            while not _is_ready(url):
                if server.poll() is not None:
                    raise RuntimeError((folder / "log").read_text())
                time.sleep(0.1)
            yield url
        finally:
            server.terminate()


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/status", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


Sent = tuple[tuple[str, str], ...]
"""The labels of an alert, sorted."""


class Delivery(NamedTuple):
    """What Alertmanager does with an alert."""

    receivers: frozenset[str]
    """The names of the receivers, without the namespace and the name of the AlertmanagerConfig."""
    is_silenced: bool
    """Whether another alert inhibits this one."""


def delivered(url: str, alerts: Sequence[Labels], *, silences: int = 0) -> dict[Sent, Delivery]:
    """Sends alerts, and returns what Alertmanager does with each.

    Args:
        silences: the number of inhibited alerts to wait for: Alertmanager learns the sources of inhibitions in the
            background.
    """
    body = json.dumps([{"labels": labels} for labels in alerts]).encode()
    request = urllib.request.Request(f"{url}/alerts", body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=30).close()
    for _ in range(100):
        found = _deliveries(url)
        if sum(delivery.is_silenced for delivery in found.values()) >= silences:
            break
        time.sleep(0.1)
    return found


def _deliveries(url: str) -> dict[Sent, Delivery]:
    with urllib.request.urlopen(f"{url}/alerts", timeout=30) as response:
        found = json.load(response)
    return {
        tuple(sorted(alert["labels"].items())): Delivery(
            frozenset(receiver["name"].rpartition("/")[2] for receiver in alert["receivers"]),
            bool(alert["status"]["inhibitedBy"]),
        )
        for alert in found
    }
