"""Commands of helm, eksctl, argocd, curl, jq and the small programs of a shell."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence

from tests.readme.options import OptionProblem, Options, options

_HELM_GLOBAL = {"--kube-context": 1, "--kubeconfig": 1, "--namespace": 1, "--debug": 0}
_HELM_CHART = {
    "--repo": 1, "--version": 1, "--values": 1, "--set": 1, "--set-string": 1, "--set-json": 1, "--set-file": 1,
    "--wait": 0, "--timeout": 1, "--create-namespace": 0, "--dry-run": 0, "--atomic": 0, "--username": 1,
    "--password": 1, "--skip-crds": 0, "--devel": 0, "--output": 1,
}  # fmt: skip
_ARGOCD_GLOBAL = {"--server": 1, "--core": 0, "--grpc-web": 0, "--kube-context": 1}
SUBCOMMANDS: dict[str, dict[str, dict[str, int | None]]] = {
    # Helm v4.0, pkg/cmd/<command>.go and pkg/cmd/flags.go
    "helm": {
        "list": {**_HELM_GLOBAL, "--filter": 1, "--output": 1, "--all-namespaces": 0, "--selector": 1, "--short": 0},
        "upgrade": {**_HELM_GLOBAL, **_HELM_CHART, "--install": 0, "--reuse-values": 0, "--reset-values": 0,
                    "--reset-then-reuse-values": 0},
        "install": {**_HELM_GLOBAL, **_HELM_CHART},
        "uninstall": {**_HELM_GLOBAL, "--wait": 0, "--timeout": 1, "--keep-history": 0, "--dry-run": 0},
        "template": {**_HELM_GLOBAL, **_HELM_CHART, "--include-crds": 0, "--kube-version": 1, "--show-only": 1},
        "get values": {**_HELM_GLOBAL, "--all": 0, "--output": 1, "--revision": 1},
        "show values": {"--repo": 1, "--version": 1},
        "show chart": {"--repo": 1, "--version": 1, "--username": 1, "--password": 1},
        "status": {**_HELM_GLOBAL, "--output": 1},
        "registry login": {"--username": 1, "--password": 1, "--password-stdin": 0},
        "pull": {"--repo": 1, "--version": 1, "--untar": 0, "--destination": 1, "--username": 1, "--password": 1},
    },
    # eksctl v0.215, pkg/ctl/<verb>
    "eksctl": {
        "get addon": {"--cluster": 1, "--region": 1, "--name": 1, "--output": 1},
        "get nodegroup": {"--cluster": 1, "--region": 1, "--name": 1, "--output": 1},
        "get iamserviceaccount": {"--cluster": 1, "--region": 1, "--output": 1},
        "create addon": {"--cluster": 1, "--region": 1, "--name": 1, "--version": 1, "--config-file": 1, "--force": 0},
        "create cluster": {"--config-file": 1, "--name": 1, "--region": 1, "--version": 1, "--without-nodegroup": 0},
        "create nodegroup": {"--config-file": 1, "--cluster": 1, "--region": 1, "--name": 1, "--nodes": 1},
        "create podidentityassociation": {"--cluster": 1, "--region": 1, "--namespace": 1,
                                          "--service-account-name": 1, "--role-arn": 1},
    },
    # Argo CD v3.5.1, cmd/argocd/commands/app.go, cluster.go and repo.go
    "argocd": {
        "app terminate-op": _ARGOCD_GLOBAL,
        "app sync": {**_ARGOCD_GLOBAL, "--prune": 0, "--force": 0, "--server-side": 0, "--revision": 1},
        "app get": {**_ARGOCD_GLOBAL, "--refresh": 0, "--hard-refresh": 0, "--output": 1},
        "app list": {**_ARGOCD_GLOBAL, "--output": 1, "--selector": 1, "--project": 1},
        "cluster add": {**_ARGOCD_GLOBAL, "--name": 1, "--yes": 0, "--upsert": 0, "--label": 1},
        "cluster list": {**_ARGOCD_GLOBAL, "--output": 1},
        "repo add": {**_ARGOCD_GLOBAL, "--type": 1, "--name": 1, "--username": 1, "--password": 1,
                     "--enable-oci": 0, "--project": 1, "--ssh-private-key-path": 1},
        "repo list": {**_ARGOCD_GLOBAL, "--output": 1},
        "repo get": {**_ARGOCD_GLOBAL, "--output": 1, "--project": 1},
    },
}  # fmt: skip
"""Commands of programs other than aws and kubectl, with their options."""
_SHORT = {
    "helm": {"-n": "--namespace", "-f": "--values", "-o": "--output", "-i": "--install", "-A": "--all-namespaces",
             "-q": "--short", "-l": "--selector", "-u": "--username", "-p": "--password", "-a": "--all"},
    "eksctl": {"-f": "--config-file", "-o": "--output", "-r": "--region"},
    "argocd": {"-o": "--output", "-l": "--selector", "-y": "--yes", "-p": "--project"},
}  # fmt: skip
_READING = (
    "helm list", "helm template", "helm get values", "helm show values", "helm show chart", "helm status",
    "eksctl get addon", "eksctl get nodegroup", "eksctl get iamserviceaccount",
    "argocd app get", "argocd app list", "argocd cluster list", "argocd repo list", "argocd repo get",
)  # fmt: skip
FILTERS = ("grep", "jq", "sort", "head", "tail", "cut", "wc", "tr", "uniq", "cat", "column", "date", "base64")
"""Programs that read the standard input and print text."""
_CURL = {
    "--fail": 0, "--silent": 0, "--show-error": 0, "--location": 0, "--output": 1, "--remote-name": 0, "--head": 0,
    "--request": 1, "--header": 1, "--data": 1, "--user": 1, "--insecure": 0, "--max-time": 1,
}  # fmt: skip
_CURL_SHORT = {
    "f": "--fail", "s": "--silent", "S": "--show-error", "L": "--location", "o": "--output", "O": "--remote-name",
    "I": "--head", "X": "--request", "H": "--header", "d": "--data", "u": "--user", "k": "--insecure",
}  # fmt: skip
_CURL_WRITES = ("--output", "--remote-name", "--request", "--data")
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
            return not set(_CURL_WRITES) & set(_curl(arguments[1:]).values)
        if arguments[0] in SUBCOMMANDS:
            return _parsed(arguments)[0] in _READING
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
            return f"{program} {name}", options(arguments[1 + length :], known[name], _SHORT[program])
    raise OptionProblem(f"{program} has no command {' '.join(words)} in the table of tests/readme/other_programs.py")


def _curl(arguments: Sequence[str]) -> Options:
    """The options of curl, which also accepts several letters after one `-`."""
    single: list[str] = []
    for argument in arguments:
        if re.fullmatch(r"-[A-Za-z]+", argument):
            unknown = [letter for letter in argument[1:] if letter not in _CURL_SHORT]
            if unknown:
                raise OptionProblem(f"unknown option -{unknown[0]}")
            single += [_CURL_SHORT[letter] for letter in argument[1:]]
        else:
            single.append(argument)
    return options(single, _CURL, {})
