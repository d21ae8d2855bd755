"""Starts and stops programs, and finds free ports. All programs of a rehearsal end when gpuc ends."""

import fcntl
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self, TypeVar
from urllib.request import urlopen

from msgspec import Struct

_LOCK = "lock"
_PIDS = "pids"
LOOPBACK = "127.0.0.1"
LAUNCH = Path(__file__).with_name("launch.py")
POLL_SECONDS = 0.05
T = TypeVar("T")


def poll(find: Callable[[], T], timeout_s: float, poll_s: float = POLL_SECONDS) -> T:
    """Calls `find` until its result counts as true, or until the time is over. Returns the last result."""
    deadline = time.monotonic() + timeout_s
    while not (found := find()) and time.monotonic() <= deadline:
        time.sleep(poll_s)
    return found


@contextmanager
def run_folder(runs: Path) -> Iterator[Path]:
    """Yields a new folder, and removes it at the end of the `with` block. Removes the folders of killed runs first."""
    runs.mkdir(parents=True, exist_ok=True)
    for other in sorted(runs.iterdir()):
        _remove_if_abandoned(other)
    folder = Path(tempfile.mkdtemp(dir=runs))
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def record_process(folder: Path, pid: int) -> None:
    """Writes the id of a process to a folder. If gpuc is killed, the next run of gpuc kills the process."""
    with (folder / _PIDS).open("a", encoding="ascii") as pids:
        pids.write(f"{pid} {_start_time(pid)}\n")


def _remove_if_abandoned(folder: Path) -> None:
    """Kills the programs of a run and removes its folder, unless a running gpuc has locked the folder."""
    try:
        with (folder / _LOCK).open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                for line in (folder / _PIDS).read_text(encoding="ascii").splitlines():
                    pid, _, start_time = line.partition(" ")
                    if start_time and start_time == _start_time(int(pid)):
                        with suppress(ProcessLookupError, PermissionError):
                            os.killpg(int(pid), signal.SIGKILL)
            shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:
        return
    except OSError:
        with suppress(OSError):
            folder.rmdir()  # an empty folder of a run that was killed before it created its lock


def _start_time(pid: int) -> str:
    """Returns the start time of a process, which differs between processes with the same id; empty if none exists."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return ""
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return fields.rpartition(")")[2].split()[19]


class ProgramError(Exception):
    """The error if a program ended or did not become ready. The message has the last lines of the program's log."""


class Process(Struct, frozen=True):
    """A program that was started, its log, and a function that reports whether the program is ready."""

    name: str
    log: Path
    child: subprocess.Popen[bytes]
    ready: Callable[[], bool]

    def wait_ready(self, timeout_s: float) -> None:
        """Waits until the program is ready.

        Raises:
            ProgramError: if the program ends or is not ready in time.
        """

        def is_ready() -> bool:
            self.require_alive()
            return self.ready()

        if not poll(is_ready, timeout_s):
            raise ProgramError(f"{self.name} was not ready after {timeout_s:.0f} s:\n{self.tail()}")

    def require_alive(self) -> None:
        """Raises ProgramError if the program has ended."""
        if self.child.poll() is not None:
            raise ProgramError(f"{self.name} ended with code {self.child.returncode}:\n{self.tail()}")

    def tail(self, lines: int = 15) -> str:
        """Returns the last lines of the log of the program."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def memory_mib(self) -> int:
        """Returns the resident memory of the program in MiB; 0 if the operating system does not report the memory."""
        try:
            status = Path(f"/proc/{self.child.pid}/status").read_text(encoding="ascii")
        except OSError:
            return 0
        return next((int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS")), 0)


class Started(ABC):
    """A base class of context managers that start programs. The last program stops first, also after an error."""

    @abstractmethod
    def start(self, stack: ExitStack) -> None:
        """Starts all programs. After each start, adds to the stack a function that stops the program."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def free_ports(count: int) -> list[int]:
    """Returns `count` different free ports of this machine."""
    with ExitStack() as bound:
        listeners = [bound.enter_context(socket.socket()) for _ in range(count)]
        for listener in listeners:
            listener.bind((LOOPBACK, 0))
        return [int(listener.getsockname()[1]) for listener in listeners]


def start(
    program: Path, arguments: Iterable[str], log: Path, ready: Callable[[], bool], environment: Mapping[str, str]
) -> Process:
    """Starts a program that ends when gpuc ends.

    Linux ends the program when the thread that started it ends. So only the main thread may call this function.
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
    """Returns a function that reports whether a URL returns status 200, without a check of the certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def probe() -> bool:
        try:
            with urlopen(url, timeout=5, context=context) as response:
                return bool(response.status == 200)
        except OSError:
            return False

    return probe
