"""Runs the command of a gang template with a real torchrun, one network namespace per pod. One pod starts late.

`make conformance-all` runs this module. GPUC_TORCH_PYTHON names a Python with PyTorch, which `make torch` installs into
.venv/torch; without PyTorch the test does not run.
The ranks run on the CPU with Gloo: the test covers the rendezvous, not NCCL.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.check_result import CheckResult
from tests.conftest import ROOT

TEMPLATE = ROOT / "out/prod-use1/workloads/train-h100.yaml"
LATE_SECONDS = 180
LIMIT_SECONDS = 600
"""The time for all ranks to start and end. It exceeds the delay by the start of 16 processes on two cores."""
BRIDGE = "gpuc-gang"
"""The network namespace with the bridge that connects the pods."""
TRAIN = """\
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
ones = torch.ones(1)
dist.all_reduce(ones)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}, sum {ones.item():.0f}", flush=True)
dist.destroy_process_group()
"""


@dataclass(frozen=True)
class Pod:
    """A pod of an Indexed Job: its network, its host name, and its record in the cluster's DNS."""

    job: dict[str, Any]
    index: int

    @property
    def name(self) -> str:
        return f"{self.job['metadata']['name']}-{self.index}"

    @property
    def namespace(self) -> str:
        """The name of the pod's network namespace."""
        return f"{BRIDGE}-{self.index}"

    @property
    def address(self) -> str:
        return f"10.213.0.{self.index + 1}"

    @property
    def dns_name(self) -> str:
        subdomain = self.job["spec"]["template"]["spec"]["subdomain"]
        return f"{self.name}.{subdomain}.{self.job['metadata']['namespace']}.svc.cluster.local"

    @property
    def command(self) -> list[str]:
        """The command of the container, with $(JOB_COMPLETION_INDEX) expanded as by the kubelet."""
        container = self.job["spec"]["template"]["spec"]["containers"][0]
        return [word.replace("$(JOB_COMPLETION_INDEX)", str(self.index)) for word in container["command"]]


def missing_requirement() -> str:
    """Returns why the test cannot run; the empty string if it can."""
    python = os.environ.get("GPUC_TORCH_PYTHON", "")
    if not python or not Path(python).exists():
        return "GPUC_TORCH_PYTHON does not name a Python with PyTorch"
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
        return f"{python} cannot import torch"
    if not shutil.which("ip") or os.geteuid() != 0:
        return "network namespaces need root and the program ip"
    return ""


def checks(late_seconds: int = LATE_SECONDS) -> Iterator[CheckResult]:
    """Yields one check for each pod that starts late: pod 0, which all other pods wait for, and the last pod."""
    (job,) = [body for body in yaml.safe_load_all(TEMPLATE.read_text()) if body["kind"] == "Job"]
    for late in (0, job["spec"]["parallelism"] - 1):
        name = f"gang {job['metadata']['name']} starts if pod {late} is {late_seconds} seconds late"
        yield CheckResult(name, _run_gang(job, late, late_seconds))


def _run_gang(job: dict[str, Any], late: int, late_seconds: int) -> str:
    """Runs all pods of the Job; returns what went wrong, or the empty string."""
    pods = [Pod(job, index) for index in range(job["spec"]["parallelism"])]
    with tempfile.TemporaryDirectory() as temporary, _network(pods):
        folder = Path(temporary)
        (folder / "train.py").write_text(TRAIN)
        started: list[Pod] = []
        processes: dict[int, subprocess.Popen[str]] = {}
        with ExitStack() as outputs:
            for pod in sorted(pods, key=lambda pod: pod.index == late):
                if pod.index == late:
                    time.sleep(late_seconds)
                    if ended := [other.name for other in started if processes[other.index].poll() is not None]:
                        return f"before pod {pod.name} started, {', '.join(ended)} ended:\n{_logs(folder, pods)}"
                started.append(pod)
                _publish(folder, pods, started)
                log = outputs.enter_context((folder / f"{pod.name}.log").open("w"))
                processes[pod.index] = _start(folder, pod, log)
            deadline = time.monotonic() + LIMIT_SECONDS
            codes = [_exit_code(process, deadline) for process in processes.values()]
        logs = _logs(folder, pods)
        ranks = len(pods) * int(next(word for word in pods[0].command if "--nproc-per-node" in word).split("=")[1])
        finished = [rank for rank in range(ranks) if f"rank {rank} of {ranks}, sum {ranks}" in logs]
        is_good = codes == [0] * len(pods) and len(finished) == ranks
        return "" if is_good else f"exit codes {codes}, {len(finished)} of {ranks} ranks finished:\n{logs[-4000:]}"


def _logs(folder: Path, pods: Sequence[Pod]) -> str:
    files = [folder / f"{pod.name}.log" for pod in pods]
    return "\n".join(file.read_text() for file in files if file.exists())


def _publish(folder: Path, pods: Sequence[Pod], started: Sequence[Pod]) -> None:
    """Writes the hosts file of every pod: the pod itself as the kubelet does, and the DNS records of started pods."""
    for pod in pods:
        lines = ["127.0.0.1 localhost", f"{pod.address} {pod.dns_name} {pod.name}"]
        lines += [f"{other.address} {other.dns_name}" for other in started if other is not pod]
        (folder / f"{pod.name}.hosts").write_text("\n".join(lines) + "\n")


def _start(folder: Path, pod: Pod, log: Any) -> subprocess.Popen[str]:
    script = 'hostname "$1" && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"'
    torchrun, *arguments = pod.command
    run = [os.environ["GPUC_TORCH_PYTHON"], "-m", "torch.distributed.run", *arguments]
    assert torchrun == "torchrun", pod.command
    return subprocess.Popen(
        ["ip", "netns", "exec", pod.namespace, "unshare", "--mount", "--uts", "sh", "-c", script, "sh",
         pod.name, str(folder / f"{pod.name}.hosts"), *run],
        cwd=folder, stdout=log, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        env={**os.environ, "JOB_COMPLETION_INDEX": str(pod.index), "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip


def _exit_code(process: subprocess.Popen[str], deadline: float) -> int | None:
    """Returns the exit code; None if the process did not end in time and was killed."""
    try:
        return process.wait(max(1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return None


@contextmanager
def _network(pods: Sequence[Pod]) -> Iterator[None]:
    """A network namespace for each pod, connected by a bridge."""
    namespaces = [BRIDGE, *(pod.namespace for pod in pods)]
    try:
        for namespace in namespaces:
            _ip("netns", "add", namespace)
        _ip("-n", BRIDGE, "link", "add", "bridge", "type", "bridge")
        _ip("-n", BRIDGE, "link", "set", "bridge", "up")
        for pod in pods:
            _ip("-n", BRIDGE, "link", "add", f"pod{pod.index}", "type", "veth",
                "peer", "name", "eth0", "netns", pod.namespace)  # fmt: skip
            _ip("-n", BRIDGE, "link", "set", f"pod{pod.index}", "master", "bridge", "up")
            _ip("-n", pod.namespace, "address", "add", f"{pod.address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                _ip("-n", pod.namespace, "link", "set", device, "up")
        yield
    finally:
        for namespace in namespaces:
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True, check=False)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def main(arguments: Sequence[str]) -> int:
    """Runs the checks; returns 1 if one fails. An argument replaces the delay in seconds."""
    if reason := missing_requirement():
        print(f"not run: the gang command with a real torchrun: {reason}")
        return 0
    results = []
    for result in checks(*map(int, arguments[:1])):
        results.append(result)
        print(f"{'FAILED' if result.problem else 'passed'}  {result.name}\n{result.problem}".rstrip(), flush=True)
    failed = sum(bool(result.problem) for result in results)
    print(f"{len(results) - failed} checks passed, {failed} failed", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
