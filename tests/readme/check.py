"""All checks of shell programs: bash, shellcheck, and each command against its program."""

import shlex
import subprocess
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from tests.readme.aws import aws_problems, aws_reads
from tests.readme.blocks import blocks, hidden_commands, mentions, program
from tests.readme.kubectl import context_problem, kubectl_problems, kubectl_reads
from tests.readme.options import OptionProblem
from tests.readme.other_programs import (
    FILTERS,
    SUBCOMMANDS,
    curl_problems,
    jq_problems,
    other_reads,
    subcommand_problems,
)
from tests.readme.recording import Command, record
from tests.substrates.eks.karpenter.test_user_data_programs import judged


def readme_problems(readme: str, root: Path) -> list[str]:
    """The mistakes in the commands of a README, each with its line.

    Args:
        root: the folder in which the commands run, for the files in their options.
    """
    found = blocks(readme)
    hidden = [f"line {block.line}: {block.text.strip()} is not in a code block" for block in hidden_commands(readme)]
    spoken = [Command(block.line, tuple(shlex.split(block.text)), is_mention=True) for block in mentions(readme)]
    text = program(found)
    recording = record(text)
    is_hub = "HUB=" in text
    commands = [*recording.commands, *spoken]
    contexts = [problem for command in recording.commands for problem in _context(command, is_hub)]
    files = [problem for command in recording.commands for problem in _missing_files(command, root)]
    return [*hidden, *_syntax(text), *recording.errors, *command_problems(commands), *contexts, *files]


def program_problems(text: str) -> list[str]:
    """The mistakes in a shell program that a command of gpuc prints, for example a check of a prerequisite."""
    recording = record(text)
    return [*_syntax(text), *recording.errors, *command_problems(recording.commands)]


def command_problems(commands: Iterable[Command]) -> list[str]:
    """The mistakes in commands, each with its line. A command of an unknown program is a mistake."""
    return [
        f"line {command.line}: {command.arguments[0]}: {problem}" for command in commands for problem in _of(command)
    ]


def only_reads(text: str) -> bool:
    """Whether a shell program changes nothing: all of its commands read, and it writes no file."""
    recording = record(text)
    return not recording.errors and not recording.files and all(map(_reads, recording.commands))


def _of(command: Command) -> Iterator[str]:
    name, *rest = command.arguments
    if name == "aws":
        yield from aws_problems(rest, command.is_mention)
    elif name == "kubectl":
        yield from kubectl_problems(rest, command.input, command.is_mention)
    elif name in SUBCOMMANDS:
        yield from subcommand_problems(command.arguments)
    elif name == "curl":
        yield from curl_problems(rest)
    elif name == "jq":
        yield from jq_problems(rest)
    elif name not in (*FILTERS, "gpuc"):
        yield "unknown program"


def _reads(command: Command) -> bool:
    match command.arguments[0]:
        case "aws":
            return aws_reads(command.arguments[1:])
        case "kubectl":
            return kubectl_reads(command.arguments[1:])
    return other_reads(command.arguments)


def _context(command: Command, is_hub: bool) -> Iterator[str]:
    if command.arguments[0] == "kubectl":
        try:
            if problem := context_problem(command.arguments[1:], is_hub):
                yield f"line {command.line}: kubectl: {problem}"
        except OptionProblem:
            return  # reported with the other problems of the command


def _missing_files(command: Command, root: Path) -> Iterator[str]:
    """Yields the files of `-f` that the fleet does not have."""
    for option, file in pairwise(command.arguments):
        if option in ("-f", "--filename", "--values") and "/" in file and not (root / file).is_file():
            yield f"line {command.line}: {file} does not exist"


def _syntax(text: str) -> list[str]:
    bash = subprocess.run(("/bin/bash", "-n"), input=text, capture_output=True, text=True, check=False)
    return [*bash.stderr.splitlines(), *judged(text).splitlines()]
