"""Commands of helm, eksctl, argocd, curl, jq and the small programs of a shell."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence

from tests.readme.options import OptionProblem, Options, options
from tests.tables import table

_TABLE = table(__file__, "commands.yaml")
SUBCOMMANDS: dict[str, dict[str, dict[str, int | None]]] = _TABLE["subcommands"]
"""Commands of programs other than aws and kubectl, with their options."""
FILTERS = ("grep", "jq", "sort", "head", "tail", "cut", "wc", "tr", "uniq", "cat", "column", "date", "base64")
"""Programs that read the standard input and print text."""
_PINNED = re.compile(r"/v?\d+\.\d+(?:\.\d+)?(?:/|$)|/[0-9a-f]{40}/")
_HTTP_REPOSITORY = re.compile(r"(?:https|oci)://[^\s/]+(?:/\S*)?")


def subcommand_problems(arguments: Sequence[str]) -> Iterator[str]:
    """Yields the mistakes in a command of helm, eksctl or argocd."""
    try:
        name, given = _parsed(arguments)
    except OptionProblem as problem:
        yield str(problem)
        return
    if name in ("helm upgrade", "helm install"):
        if len(given.words) != 2:
            yield f"{name} needs a release and a chart"
        if "--repo" in given.values and "--version" not in given.values:
            yield f"{name} without --version installs the newest chart"
    for repository in given.values.get("--repo", []):
        if not _HTTP_REPOSITORY.fullmatch(repository):
            yield f"--repo {repository} is not an address"


def jq_problems(arguments: Sequence[str]) -> Iterator[str]:
    """Yields the message of jq about a program that does not compile; none if jq is not installed."""
    program = next((argument for argument in arguments if not argument.startswith("-")), None)
    jq = shutil.which("jq")
    if program is None:
        yield "jq needs a program"
    elif jq is not None:
        command = (jq, *(argument for argument in arguments if argument != program), "-n", f"empty | ({program}\n)")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            yield done.stderr.strip().splitlines()[0]


def curl_problems(arguments: Sequence[str]) -> Iterator[str]:
    """Yields mistakes: unknown options, and addresses without https or without a version."""
    try:
        given = _curl(arguments)
    except OptionProblem as problem:
        yield str(problem)
        return
    if not given.words:
        yield "curl needs an address"
    for address in given.words:
        if not address.startswith("https://"):
            yield f"{address} does not begin with https://"
        if not _PINNED.search(address):
            yield f"{address} has no version"
    if "--fail" not in given.values:
        yield "curl without -f writes the error page of the server"


def other_reads(arguments: Sequence[str]) -> bool:
    """Whether a command of this module only reads."""
    try:
        if arguments[0] == "curl":
            return not set(_TABLE["curl"]["writes"]) & set(_curl(arguments[1:]).values)
        if arguments[0] in SUBCOMMANDS:
            return _parsed(arguments)[0] in _TABLE["reading"]
    except OptionProblem:
        return False
    return arguments[0] in FILTERS and not (arguments[0] == "sort" and any(a.startswith("-o") for a in arguments))


def _parsed(arguments: Sequence[str]) -> tuple[str, Options]:
    program = arguments[0]
    known = SUBCOMMANDS[program]
    words = [word for word in arguments[1:3] if not word.startswith("-")]
    for length in (2, 1):
        name = " ".join(words[:length])
        if len(words) >= length and name in known:
            return f"{program} {name}", options(arguments[1 + length :], known[name], _TABLE["short"][program])
    raise OptionProblem(f"{program} has no command {' '.join(words)} in tests/readme/commands.yaml")


def _curl(arguments: Sequence[str]) -> Options:
    """The options of curl, which also accepts several letters after one `-`."""
    short = _TABLE["curl"]["short"]
    single: list[str] = []
    for argument in arguments:
        if re.fullmatch(r"-[A-Za-z]+", argument):
            unknown = [letter for letter in argument[1:] if letter not in short]
            if unknown:
                raise OptionProblem(f"unknown option -{unknown[0]}")
            single += [short[letter] for letter in argument[1:]]
        else:
            single.append(argument)
    return options(single, _TABLE["curl"]["options"], {})
