"""The commands of workload templates, executed with a stub of libcuda.so.1."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from gpuc.emit.commands import open_contexts, serve

STUB = """\
#include <stdio.h>
int cuInit(unsigned flags) { return INIT; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int number) { *device = number + 10; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) {
  printf("context on %d\\n", device); fflush(stdout); *context = (void *)1; return device == FAILING ? 805 : 0;
}
"""
COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="a C compiler builds the stub of libcuda.so.1")


def libcuda(folder: Path, init: int = 0, failing: int = -1) -> dict[str, str]:
    """Compiles a libcuda.so.1 with two devices, and returns the environment of programs that load the library."""
    source = folder / "stub.c"
    source.write_text(STUB.replace("INIT", str(init)).replace("FAILING", str(failing)))
    library = folder / "libcuda.so.1"
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return {**os.environ, "LD_LIBRARY_PATH": str(folder)}


def run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    assert command[0] == "python3"
    return subprocess.run([sys.executable, *command[1:]], env=environment, capture_output=True, text=True, check=False)


@needs_compiler
def test_the_job_opens_a_context_on_each_device(tmp_path: Path) -> None:
    done = run(open_contexts(), libcuda(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["context on 10", "context on 11", "opened a CUDA context on 2 devices"]


@needs_compiler
@pytest.mark.parametrize(
    ("init", "failing", "message"),
    [(100, -1, "cuInit failed with CUDA error 100"), (0, 11, "cuDevicePrimaryCtxRetain failed with CUDA error 805")],
)
@pytest.mark.parametrize("is_server", [False, True])
def test_c1_the_command_fails_if_a_context_cannot_be_opened(
    init: int, failing: int, message: str, is_server: bool, tmp_path: Path
) -> None:
    """Finding C1: error 805 means that the MPS server cannot be reached. nvidia-smi -L succeeded nevertheless."""
    command = serve(free_port(), has_gpu=True) if is_server else open_contexts()
    done = run(command, libcuda(tmp_path, init, failing))
    assert done.returncode == 1
    assert done.stderr.strip() == message


def test_the_command_fails_without_a_driver(tmp_path: Path) -> None:
    if (done := run(open_contexts(), {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)})).returncode == 0:
        pytest.skip("this machine has a GPU")
    assert "libcuda.so.1" in done.stderr or "CUDA error" in done.stderr


@pytest.mark.parametrize("has_gpu", [pytest.param(True, marks=needs_compiler), False])
def test_the_server_answers_the_probes_and_ends_at_sigterm(has_gpu: bool, tmp_path: Path) -> None:
    port = free_port()
    environment = libcuda(tmp_path) if has_gpu else dict(os.environ)
    command = [sys.executable, *serve(port, has_gpu=has_gpu)[1:]]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert status(port, "/health", process) == 200
            assert status(port, "/v1/models", process) == 404
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0
        finally:
            process.kill()
        assert process.stdout
        assert ("opened a CUDA context on 2 devices" in process.stdout.read()) == has_gpu


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def status(port: int, path: str, process: subprocess.Popen[str]) -> int:
    """Returns the HTTP status; waits for the server as long as it runs."""
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            assert process.poll() is None, "the server does not answer"
            time.sleep(0.1)
