"""Programs of the control plane, and their ports. The programs end when gpuc ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

LOOPBACK = "127.0.0.1"
LAUNCH = Path(__file__).with_name("launch.py")
POLL_SECONDS = 0.05


class ProgramError(Exception):
    """A program that ended or did not become ready. The message ends with the last lines of the program's log."""


@dataclass(frozen=True)
class Process:
    """A running program."""

    name: str
    log: Path
    child: subprocess.Popen[bytes]
    ready: Callable[[], bool]

    def wait_ready(self, timeout_s: float) -> None:
        """Waits until the program is ready.

        Raises:
            ProgramError: if the program ends or is not ready in time.
        """
        deadline = time.monotonic() + timeout_s
        while not self.ready():
            self.require_alive()
            if time.monotonic() > deadline:
                raise ProgramError(f"{self.name} was not ready after {timeout_s:.0f} s:\n{self.tail()}")
            time.sleep(POLL_SECONDS)

    def require_alive(self) -> None:
        """Raises ProgramError if the program has ended."""
        if self.child.poll() is not None:
            raise ProgramError(f"{self.name} ended with code {self.child.returncode}:\n{self.tail()}")

    def tail(self, lines: int = 15) -> str:
        """Returns the last lines of the log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def memory_mib(self) -> int:
        """Returns the resident memory in MiB; 0 if the operating system does not report the memory."""
        try:
            status = Path(f"/proc/{self.child.pid}/status").read_text(encoding="ascii")
        except OSError:
            return 0
        return next((int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS")), 0)


class Started(ABC):
    """A context manager that starts programs, and stops them in reverse order, even if one of the starts fails."""

    @abstractmethod
    def start(self, stack: ExitStack) -> None:
        """Starts all programs. Pushes the stop of a program on the stack immediately after its start."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def free_ports(count: int) -> list[int]:
    """Returns different free ports. All ports are bound at the same time, so no port is returned twice."""
    with ExitStack() as bound:
        listeners = [bound.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind((LOOPBACK, 0))
        return [int(listener.getsockname()[1]) for listener in listeners]


def start(
    program: Path, arguments: Iterable[str], log: Path, ready: Callable[[], bool], environment: Mapping[str, str]
) -> Process:
    """Starts a program in a new session.

    Linux ends the program when the calling thread ends, so the main thread must call this function.
    """
    with log.open("wb") as stream:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCH), str(os.getpid()), str(program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    return Process(program.name, log, child, ready)


def stop(processes: Iterable[Process]) -> None:
    """Kills programs in the given order. A run keeps no data, so the programs need no orderly shutdown."""
    for process in processes:
        if process.child.poll() is None:
            os.killpg(process.child.pid, signal.SIGKILL)
            process.child.wait()


def http_probe(url: str) -> Callable[[], bool]:
    """Returns a probe that reports whether a URL returns status 200. The probe does not check the certificate."""
    import ssl
    from urllib.error import URLError
    from urllib.request import urlopen

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def probe() -> bool:
        try:
            with urlopen(url, timeout=5, context=context) as response:
                return bool(response.status == 200)
        except (URLError, OSError):
            return False

    return probe
