"""Runs a shell program without any other program, and records the commands that the program would start.

bash itself expands variables, loops, quotes and command substitutions. PATH is empty, so bash calls a function for each
command; the function records the arguments, the standard input and the line, and prints a placeholder.
"""

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

PLACEHOLDER = "THE_OUTPUT_OF_A_COMMAND"
"""What each command prints, for example as the value of a variable; long enough for an ARN."""
_MAXIMUM = 500
"""Commands in one run: more come only from a loop without an end."""
_TIMEOUT_S = 60
_HANDLER = f"""
set -u
command_not_found_handle() {{
  local input=""
  if [ ! -c /dev/stdin ]; then IFS= read -r -d "" input || true; fi
  printf '%s\\0' "${{BASH_LINENO[0]}}" "$#" "$@" "$input" >> "$RECORD/$BASHPID"
  local records=("$RECORD"/*)
  if [ "${{#records[@]}}" -gt {_MAXIMUM} ]; then kill -TERM "$$"; fi
  printf '%s\\n' {PLACEHOLDER}
  return "$STATUS"
}}
"""


@dataclass(frozen=True, slots=True, order=True)
class Command:
    """A command that a shell program starts."""

    line: int
    arguments: tuple[str, ...]
    """The program and its arguments."""
    input: str = ""
    """Text on the standard input, empty if there is none or if it is the output of a recorded command."""
    is_mention: bool = False
    """The command stands in a sentence, where required arguments can be missing."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What a shell program does."""

    commands: tuple[Command, ...]
    """Sorted by line; each command once."""
    errors: tuple[str, ...]
    """Messages of bash, for example about a variable without a value."""
    files: tuple[str, ...]
    """Files that redirections write, for example `> values.yaml`."""


def record(program: str) -> Recording:
    """Runs a shell program twice, so that both `&&` and `||` continue: all commands succeed, then all fail."""
    commands: set[Command] = set()
    errors: set[str] = set()
    files: set[str] = set()
    for status in (0, 1):
        with tempfile.TemporaryDirectory() as folder:
            records, work = Path(folder, "records"), Path(folder, "work")
            records.mkdir()
            work.mkdir()
            script, handler = Path(folder, "README"), Path(folder, "handler")
            script.write_text(program, encoding="utf-8")
            handler.write_text(_HANDLER, encoding="utf-8")
            environment = {
                "PATH": "/nonexistent",
                "BASH_ENV": str(handler),
                "RECORD": str(records),
                "STATUS": str(status),
            }
            bash = ("/bin/bash", "--noprofile", "--norc", str(script))
            done = subprocess.run(
                bash, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                check=False, timeout=_TIMEOUT_S,
            )  # fmt: skip
            commands |= {command for path in records.iterdir() for command in _commands(path)}
            errors |= set(done.stderr.replace(f"{script}: ", "").splitlines())
            files |= {path.name for path in work.iterdir()}
    return Recording(tuple(sorted(commands)), tuple(sorted(errors)), tuple(sorted(files)))


def _commands(path: Path) -> list[Command]:
    """The commands in one file of a process, which normally has one."""
    fields = path.read_text(encoding="utf-8").split("\0")
    found = []
    while len(fields) > 1:
        line, count = int(fields[0]), int(fields[1])
        text = fields[2 + count].strip()
        found.append(Command(line, tuple(fields[2 : 2 + count]), "" if text in ("", PLACEHOLDER) else text))
        fields = fields[3 + count :]
    return found
