"""Commands for the containers of workload templates. In GPU pools, a command fails if it cannot use the GPUs.

nvidia-smi is no test for this: nvidia-smi opens no CUDA context, so it also succeeds if the MPS server is unreachable.

If the ranks of a gang fail because of another pod, the command of the gang starts torchrun again. torchrun exits with
code 1 for each failure of a rank: for a mistake in the training program, and for the loss of another node. A Job cannot
distinguish these failures, so the command handles them: only the ranks of the other pods fail, and the pods continue to
run.

Source: CUDA driver API reference, primary context management (https://docs.nvidia.com/cuda/cuda-driver-api)
"""

from functools import cache
from pathlib import Path

from gpuc.emit.template import render

PROGRAMS = Path(__file__).parent / "programs"
"""The folder with the Python programs of workload templates."""


def open_contexts() -> list[str]:
    """Returns a command that opens a CUDA context on every GPU, MIG slice or GPU share of the container and exits.

    If the command cannot open a context, its exit code is not 0.
    """
    return ["python3", "-c", render(PROGRAMS, "open_contexts.j2")]


def serve(port: int, *, has_gpu: bool) -> list[str]:
    """Returns a command that opens a CUDA context on every GPU, and then answers HTTP requests for /health.

    The command handles SIGTERM, so that the pod ends at once: by default, process 1 of a container ignores SIGTERM.
    """
    return ["python3", "-c", render(PROGRAMS, "serve.j2", port=port, has_gpu=has_gpu)]


RESTARTS = 8
"""How often torchrun is started again in succession, if none of these runs reaches the next checkpoint.

The pauses are 10, 20, 40, 80, 160 and then 320 seconds. After the loss of a node, a new pod can find the old pod 0,
whose ranks wait for the lost rank until the timeout of NCCL, 600 seconds. The torchrun of the new pod then fails. The
first six pauses are 630 seconds, so that at most seven starts fail in this time.

Source: pytorch/pytorch v2.15.0 torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp (kProcessGroupNCCLDefaultTimeout)
"""
NO_PROGRESS_CODE = 70
"""The exit code after the last restart."""
STOPPED_CODE = 143
"""The exit code after SIGTERM, which a pod gets only from outside."""


@cache
def program() -> str:
    """Returns the Python program with which `restart_in_place` starts a command again.

    The first argument of the program is a time in seconds. If a run is longer, the program assumes that the run wrote a
    new checkpoint. The other arguments are the command. As process 1 of a container, the program forwards SIGTERM. It
    also ends processes of a failed run, because they can use GPU memory.
    """
    codes = {"stopped_code": STOPPED_CODE, "no_progress_code": NO_PROGRESS_CODE, "restarts": RESTARTS}
    return render(PROGRAMS, "restart_in_place.j2", **codes)


def restart_in_place(command: list[str], progress_seconds: int | None) -> list[str]:
    """Returns a command that starts the given command again after a failure.

    progress_seconds: a run that is longer counts as a run with a new checkpoint; None for runs without checkpoints.
    """
    return ["python3", "-c", program(), "inf" if progress_seconds is None else str(progress_seconds), *command]
