"""Commands of workload templates for GPU pools. They fail if the container cannot use its GPUs.

nvidia-smi is not sufficient, because it opens no CUDA context: it also succeeds if the MPS server cannot be reached.

Source: CUDA driver API reference, primary context management (https://docs.nvidia.com/cuda/cuda-driver-api)
"""

from __future__ import annotations

from pathlib import Path

from gpuc.emit.template import render

PROGRAMS = Path(__file__).parent / "programs"
"""The folder with the Python programs of workload templates."""


def open_contexts() -> list[str]:
    """Returns a command that opens a CUDA context on every GPU, MIG slice or GPU share of the container and ends.

    The command ends not with 0 if a context cannot be opened.
    """
    return ["python3", "-c", render(PROGRAMS, "open_contexts.j2")]


def serve(port: int, *, has_gpu: bool) -> list[str]:
    """Returns a command that opens a CUDA context on every GPU, answers HTTP requests for /health, and ends at SIGTERM.

    Process 1 of a container ignores SIGTERM by default.
    """
    return ["python3", "-c", render(PROGRAMS, "serve.j2", port=port, has_gpu=has_gpu)]
