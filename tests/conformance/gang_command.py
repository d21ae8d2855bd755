"""Runs the commands of gang templates with a real torchrun, one network namespace per pod. Pods start late or get lost.

The templates are those of a Job and of a TrainJob, with the variables that Trainer sets.

`make conformance-all` runs this module. GPUC_TORCH_PYTHON names a Python with PyTorch, which `make torch` installs into
.venv/torch; without PyTorch the test does not run.
The ranks run on the CPU with Gloo: the test covers the rendezvous, not NCCL.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.conformance import gang_lost_node
from tests.conformance.check_result import CheckResult, report
from tests.conformance.gang_pods import (
    Pod,
    gang_job,
    gang_of_train_job,
    missing_requirement,
    network,
    publish,
    ranks_of,
    start,
)

LATE_SECONDS = 180
LIMIT_SECONDS = 600
"""The time for all ranks to start and end. It exceeds the delay by the start of 16 processes on two cores."""
TRAIN = """\
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
ones = torch.ones(1)
dist.all_reduce(ones)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}, sum {ones.item():.0f}", flush=True)
dist.destroy_process_group()
"""


def checks(late_seconds: int = LATE_SECONDS) -> Iterator[CheckResult]:
    """Yields a check for each pod that starts late (pod 0, which all other pods wait for, and the last pod).

    Then yields the check of a TrainJob, and the checks of lost nodes.
    """
    job = gang_job()
    for late in (0, job["spec"]["parallelism"] - 1):
        name = f"gang {job['metadata']['name']} starts if pod {late} is {late_seconds} seconds late"
        yield CheckResult(name, _run_gang(job, late, late_seconds))
    train_job = gang_of_train_job()
    name = f"the TrainJob of gang {train_job['metadata']['name']} starts if pod 0 is {late_seconds} seconds late"
    yield CheckResult(name, _run_gang(train_job, 0, late_seconds))
    yield from gang_lost_node.checks()


def _run_gang(job: dict[str, Any], late: int, late_seconds: int) -> str:
    """Runs all pods of the Job; returns what went wrong, or the empty string."""
    pods = [Pod(job, index) for index in range(job["spec"]["parallelism"])]
    with tempfile.TemporaryDirectory() as temporary, network(pods):
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
                publish(folder, pods, started)
                log = outputs.enter_context((folder / f"{pod.name}.log").open("w"))
                processes[pod.index] = start(folder, pod, log)
            deadline = time.monotonic() + LIMIT_SECONDS
            codes = [_exit_code(process, deadline) for process in processes.values()]
        logs = _logs(folder, pods)
        ranks = ranks_of(pods)
        finished = [rank for rank in range(ranks) if f"rank {rank} of {ranks}, sum {ranks}" in logs]
        is_good = codes == [0] * len(pods) and len(finished) == ranks
        return "" if is_good else f"exit codes {codes}, {len(finished)} of {ranks} ranks finished:\n{logs[-4000:]}"


def _logs(folder: Path, pods: Sequence[Pod]) -> str:
    files = [folder / f"{pod.name}.log" for pod in pods]
    return "\n".join(file.read_text() for file in files if file.exists())


def _exit_code(process: subprocess.Popen[str], deadline: float) -> int | None:
    """Returns the exit code; None if the process did not end in time and was killed."""
    try:
        return process.wait(max(1, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return None


def main(arguments: Sequence[str]) -> int:
    """Runs the checks; returns 1 if one fails. An argument replaces the delay in seconds."""
    if reason := missing_requirement():
        print(f"not run: the gang command with a real torchrun: {reason}")
        return 0
    return report(checks(*map(int, arguments[:1])))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
