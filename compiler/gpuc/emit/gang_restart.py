"""The program of a gang's container: it starts torchrun again when the ranks fail because of another pod.

torchrun ends with 1 for each failure of a rank: a mistake in the training program, and also the loss of another node. A
Job cannot distinguish these ends. The ranks of the other pods therefore fail without the end of their pods.
"""

from __future__ import annotations

RESTARTS = 8
"""How often torchrun is started again in succession, if no run between reaches the next checkpoint.

The pauses are 10, 20, 40, 80, 160 and then 320 seconds. After the loss of a node, a new pod can find the old pod 0,
whose ranks wait for the lost rank until the timeout of NCCL, 600 seconds. The torchrun of the new pod then fails. The
first six pauses are 630 seconds, so that at most seven starts fail in this time.

Source: pytorch/pytorch v2.15.0 torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp (kProcessGroupNCCLDefaultTimeout)
"""
NO_PROGRESS_CODE = 70
"""The exit code after the last restart."""
STOPPED_CODE = 143
"""The exit code after SIGTERM, which a pod gets only from outside."""

PROGRAM = f"""\
import contextlib, os, signal, subprocess, sys, time

progress_seconds = float(sys.argv[1])
run, stopped, failures = None, False, 0

def stop(*_):
    global stopped
    stopped = True
    if run is None or run.poll() is not None:
        raise SystemExit({STOPPED_CODE})
    run.terminate()

signal.signal(signal.SIGTERM, stop)
while True:
    start = time.monotonic()
    run = subprocess.Popen(sys.argv[2:])
    code = run.wait()
    if code == 0 or stopped:
        raise SystemExit({STOPPED_CODE} if code else 0)
    failures = 1 if time.monotonic() - start > progress_seconds else failures + 1
    if failures > {RESTARTS}:
        raise SystemExit({NO_PROGRESS_CODE})
    pause = min(320, 5 * 2**failures)
    print(f"exit code {{code}}, failure {{failures}} without a new checkpoint, next start in {{pause}} s", flush=True)
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)  # processes that ranks have started
    time.sleep(pause)
"""
"""A Python program whose first argument is a time in seconds: a longer run counts as a run with a new checkpoint.

The other arguments are the command. As process 1 of a container, the program forwards SIGTERM, and ends the processes
that a failed run has left in the container, because they can use GPU memory.
"""


def restart_in_place(command: list[str], progress_seconds: int | None) -> list[str]:
    """Returns a command that starts the given command again after a failure.

    progress_seconds: a longer run counts as a run with a new checkpoint; None if the runs write no checkpoints.
    """
    return ["python3", "-c", PROGRAM, "inf" if progress_seconds is None else str(progress_seconds), *command]
