"""A gang of three pods loses a node, or a rank fails. Pods that ended are replaced as by the Job controller.

`make conformance-all` runs this module as part of tests/conformance/gang_command.py.
"""

import copy
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from tests.conformance.check_result import CheckResult
from tests.conformance.gang_pods import Pod, connect, disconnect, gang_job, network, publish, ranks_of, start

PODS = 3
RANKS_PER_POD = 2
LIMIT_SECONDS = 600
LOSS_TIMEOUT_SECONDS = 60
"""The time after which the ranks notice the loss of a node. With NCCL it is 600 seconds."""
BACKOFF_SECONDS = 10
"""The Job controller waits so long before it replaces a pod, and twice as long after each further failure.

Source: kubernetes/kubernetes v1.35.4 pkg/controller/job/job_controller.go (DefaultJobPodFailureBackOff)
"""
TRAIN = """\
import datetime
import pathlib
import time
import torch
import torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=TIMEOUT))
rank, steps, is_last_step = dist.get_rank(), 0, torch.zeros(1)
while not is_last_step.item():
    is_last_step.fill_(float(rank == 0 and pathlib.Path("finish").exists()))
    dist.all_reduce(is_last_step)
    steps += 1
    if steps == 1:
        print(f"rank {rank} runs", flush=True)
    if (failure := pathlib.Path(f"fail-{rank}")).exists():
        failure.unlink()
        raise SystemExit("this rank fails once")
    time.sleep(0.2)
print(f"rank {rank} finished", flush=True)
dist.destroy_process_group()
"""
"""The ranks exchange data until the file finish exists."""


@dataclass
class Gang:
    """The pods of the Job that exist now, and for each index the failures of earlier pods."""

    folder: Path
    pods: list[Pod]
    outputs: dict[int, TextIO]
    processes: dict[int, subprocess.Popen[str]] = field(default_factory=dict)
    starts: dict[int, int] = field(default_factory=dict)
    retries: dict[int, int] = field(default_factory=dict)
    """The failures that count, by index. The loss of a node does not count."""
    restart_at: dict[int, float] = field(default_factory=dict)

    def start(self, index: int) -> None:
        publish(self.folder, self.pods, self.pods)
        self.processes[index] = start(self.folder, self.pods[index], self.outputs[index])
        self.starts[index] = self.starts.get(index, 0) + 1

    def lose(self, index: int) -> None:
        """Ends a pod with its node. The pod gets the condition DisruptionTarget, and its end does not count."""
        disconnect(self.pods[index])
        self.processes.pop(index).wait()
        connect(self._replacement(index))

    def replace_ended(self) -> None:
        """Replaces the pods that failed, after the delay of the Job controller."""
        for index, process in list(self.processes.items()):
            if process.poll() not in (None, 0):
                del self.processes[index]
                self.retries[index] = self.retries.get(index, 0) + 1
                disconnect(self.pods[index])
                connect(self._replacement(index))
        for index, moment in list(self.restart_at.items()):
            if time.monotonic() >= moment:
                del self.restart_at[index]
                self.start(index)

    def _replacement(self, index: int) -> Pod:
        old = self.pods[index]
        self.pods[index] = Pod(old.job, index, old.attempt + 1)
        self.restart_at[index] = time.monotonic() + BACKOFF_SECONDS * 2**old.attempt
        return self.pods[index]

    @property
    def has_finished(self) -> bool:
        return not self.restart_at and all(process.poll() == 0 for process in self.processes.values())

    @property
    def logs(self) -> str:
        return "\n".join((self.folder / f"{pod.name}.log").read_text() for pod in self.pods)


def checks() -> Iterator[CheckResult]:
    """Yields checks for the loss of pod 1, for the loss of pod 0, which all other pods need, and for a failed rank."""
    job = _three_pods(gang_job())
    disturbances: list[tuple[str, Callable[[Gang], None]]] = [
        ("the node of pod 1 is lost", lambda gang: gang.lose(1)),
        ("the node of pod 0 is lost", lambda gang: gang.lose(0)),
        ("one rank fails", lambda gang: (gang.folder / "fail-3").touch()),
    ]
    for description, disturb in disturbances:
        name = f"gang {job['metadata']['name']} finishes without a retry if {description}"
        yield CheckResult(name, _disturb(job, disturb))


def _three_pods(job: dict[str, Any]) -> dict[str, Any]:
    """Returns the Job with a pod that is neither lost nor pod 0, and with fewer ranks, because they share two cores."""
    job = copy.deepcopy(job)
    job["spec"].update(parallelism=PODS, completions=PODS)
    container = job["spec"]["template"]["spec"]["containers"][0]
    options = {"--nnodes": f"--nnodes={PODS}", "--nproc-per-node": f"--nproc-per-node={RANKS_PER_POD}"}
    container["command"] = [options.get(word.split("=")[0], word) for word in container["command"]]
    return job


def _disturb(job: dict[str, Any], disturb: Callable[[Gang], None]) -> str:
    """Disturbs the gang while all ranks run; returns what went wrong, or the empty string."""
    pods = [Pod(job, index) for index in range(PODS)]
    with tempfile.TemporaryDirectory() as temporary, network(pods), ExitStack() as files:
        folder = Path(temporary)
        (folder / "train.py").write_text(TRAIN.replace("TIMEOUT", str(LOSS_TIMEOUT_SECONDS)))
        outputs: dict[int, TextIO] = {
            pod.index: files.enter_context((folder / f"{pod.name}.log").open("a")) for pod in pods
        }
        gang = Gang(folder, pods, outputs)
        for index in range(PODS):
            gang.start(index)
        ranks, deadline = ranks_of(pods), time.monotonic() + LIMIT_SECONDS
        while any(f"rank {rank} runs" not in gang.logs for rank in range(ranks)):
            if time.monotonic() > deadline or any(process.poll() for process in gang.processes.values()):
                return f"the ranks did not start:\n{gang.logs[-4000:]}"
            time.sleep(0.5)
        disturb(gang)
        while any(folder.glob("fail-*")):
            time.sleep(0.5)
        (folder / "finish").touch()
        while not gang.has_finished and time.monotonic() < deadline:
            gang.replace_ended()
            time.sleep(0.5)
        finished = [rank for rank in range(ranks) if f"rank {rank} finished" in gang.logs]
        is_good = gang.has_finished and len(finished) == ranks and not gang.retries
        counts = f"starts {gang.starts}, counted failures {gang.retries}"
        return "" if is_good else f"{counts}, {len(finished)} of {ranks} ranks finished:\n{gang.logs[-4000:]}"
