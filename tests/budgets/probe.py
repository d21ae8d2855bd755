"""Runs commands of gpuc and prints what they load, call and read, as JSON.

Usage: python -m tests.budgets.probe, with a JSON list of runs on stdin. A run is a list of command lines that one
process runs, so that only the first of them loads the modules. Each run has a process of its own: a copy of this one,
which has loaded no module of gpuc.
"""

import _lsprof
import gc
import json
import os
import sys
from types import CodeType
from typing import Any

_ONLY_BEFORE_312 = ("<listcomp>", "<dictcomp>", "<setcomp>")
"""Functions that Python 3.12 and newer inline."""
_read: list[object] = []
"""The files that the process has opened."""


def main() -> None:
    """Reads the runs, each with the keys `folder`, `commands` and `counts`, and prints a list of results for each."""
    gc.disable()  # as good as in `gpuc`, where a search for garbage is rare
    json.dump([_in_copy(run) for run in json.load(sys.stdin)], sys.stdout)


def _in_copy(run: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs commands in a copy of this process, and returns the result of each."""
    reading, writing = os.pipe()
    if not (pid := os.fork()):
        os.close(reading)
        with open(writing, "w", encoding="utf-8") as pipe:
            json.dump(_results(run), pipe)
            pipe.flush()
            os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    assert text, f"the process of {run['commands']} failed: see output.log in {run['folder']}"
    results: list[dict[str, Any]] = json.loads(text)
    return results


def _results(run: dict[str, Any]) -> list[dict[str, Any]]:
    os.chdir(run["folder"])
    log = os.open("output.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.addaudithook(lambda event, values: _read.append(values[0]) if event == "open" else None)
    known = set(sys.modules)
    return [_result(arguments, known, run["counts"]) for arguments in run["commands"]]


def _result(arguments: list[str], known: set[str], counts: bool) -> dict[str, Any]:
    """Runs a command, and returns its exit code and its last output, and what it loads, calls and reads.

    Args:
        known: the names of the modules that the process had before the first command.
        counts: whether to count the calls, which doubles the time of the command.
    """
    _read.clear()
    profiler = _lsprof.Profiler(builtins=False)
    if counts:
        if arguments[0] == "compile":
            _replace_node()
        profiler.enable()
    code = _run(arguments)
    if counts:
        profiler.disable()
    calls: dict[str, int] = {}
    for entry in profiler.getstats():
        if isinstance(entry.code, CodeType) and entry.code.co_name not in _ONLY_BEFORE_312:
            name = f"{entry.code.co_filename}:{entry.code.co_name}"
            calls[name] = calls.get(name, 0) + entry.callcount
    files = sorted({os.path.relpath(file) for file in _read if isinstance(file, str)})
    modules = sorted(set(sys.modules) - known)
    with open("output.log", encoding="utf-8") as log:
        output = log.read()[-1000:]
    return {"code": code, "output": output, "modules": modules, "files": files, "calls": calls}


def _replace_node() -> None:
    """Prints JSON in place of the YAML of Node.js, whose speed changes the number of calls."""
    from gpuc.synth.printer import Printer

    def texts(printer: Printer) -> dict[str, str]:
        files = printer._pending.pop(0)
        return {name: file.data if file.form == "text" else json.dumps(file.data) for name, file in files.items()}

    Printer._spawn = lambda printer: None
    Printer.send = lambda printer, files: printer._pending.append({file.file: file for file in files})
    Printer.texts = texts


def _run(arguments: list[str]) -> int:
    if arguments[1:] == ["--load"]:  # only the modules of a command that needs programs
        from gpuc.cli.commands import declared

        declared(arguments[0]).load()
        return 0
    from gpuc.cli.main import main as command

    return command(arguments)


if __name__ == "__main__":
    main()
