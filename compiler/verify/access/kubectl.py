"""What a kubectl command asks of the API server, as far as its arguments certainly say.

Source: k8s.io/kubectl v0.35.4 pkg/cmd: get, wait (condition.go, delete.go), taint, label, annotate, patch, delete,
scale, drain, rollout, create; what a name stands for is read before it is changed (cli-runtime pkg/resource/builder.go)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from compiler.verify.resources import RESOURCES, Resource


class Request(NamedTuple):
    """One thing that a command asks for."""

    verb: str
    resource: Resource
    """With its subresource: pods/eviction."""
    namespace: str | None
    """None for all of them, and for resources of the cluster's scope; empty for the pod's own."""
    name: str = ""
    """Empty where it is about all of them, or where the arguments do not say."""
    is_named: bool = False
    """Whether it is about one object, whose name may be known only when it runs."""


class Command(NamedTuple):
    """The parts of a command line."""

    words: tuple[str, ...]
    flags: dict[str, str]
    """Values by flag; empty for flags that take none."""


_WITH_VALUE = frozenset((
    "-n", "--namespace", "-l", "--selector", "-o", "--output", "-p", "--patch", "--patch-file", "--type", "--for",
    "--timeout", "--field-selector", "-c", "--container", "--replicas", "--grace-period", "--template", "--sort-by",
    "--request-timeout", "--cache-dir", "--field-manager", "-L", "--label-columns", "--from", "--image", "--revision",
    "--from-literal", "--from-file", "--from-env-file", "--since", "--tail", "--chunk-size", "-v", "--v", "--verb",
    "--pod-selector", "--resource", "--resource-name", "--resource-version", "--cert", "--key", "--schedule", "--role",
    "--clusterrole", "--serviceaccount", "--group", "--hard", "--description", "--value", "--to-revision",
))  # fmt: skip
_WITHOUT_VALUE = frozenset((
    "-A", "--all-namespaces", "--all", "--overwrite", "--wait", "--force", "--ignore-not-found", "--now", "-w",
    "--watch", "--ignore-daemonsets", "--delete-emptydir-data", "--no-headers", "--show-labels", "--show-kind",
    "--list", "--recursive", "-R", "--disable-eviction", "--cascade", "--save-config", "--all-containers", "-q",
    "--quiet", "--warnings-as-errors",
))  # fmt: skip
"""Everything else may send the command elsewhere or nowhere (--server, --as, --dry-run, -f), and is not judged."""
_READ_AND_PATCHED = frozenset(("taint", "label", "annotate", "patch", "cordon", "uncordon"))
_OF_NODES = frozenset(("cordon", "uncordon", "drain"))
_CREATED = {"secret": 2, "service": 2}
"""Kinds whose name stands behind a type: create secret generic NAME."""


def parse(arguments: Sequence[str]) -> Command | None:
    """The parts of what stands behind the word kubectl; None where a flag is not known, or leads to another cluster."""
    words: list[str] = []
    flags: dict[str, str] = {}
    waiting = ""
    for argument in arguments:
        if waiting:
            flags[waiting], waiting = argument, ""
        elif argument == "--":
            break
        elif not argument.startswith("-") or argument == "-":
            words.append(argument)
        else:
            name, equals, value = argument.partition("=")
            if name not in _WITH_VALUE and name not in _WITHOUT_VALUE:
                return None
            if name in _WITH_VALUE and not equals:
                waiting = name
            flags[name] = value
    return Command(tuple(words), flags) if words and not waiting else None


def requests(command: Command, minor: int | None) -> Iterator[Request]:
    """What a command certainly asks of the API server.

    Args:
        minor: of kubectl's version 1.x; None where it is not known.
    """
    verb, words = command.words[0], command.words[1:]
    if verb == "rollout" and words:
        verb, words = {"restart": "patch", "status": "wait"}.get(words[0], ""), words[1:]
    if verb in _OF_NODES:
        words = ("nodes", *words)
    if verb == "create":
        yield from _created(command, words)
        return
    for resource, name, is_named in _named(words, command.flags):
        where = None if resource.is_cluster or _has(command.flags, "-A", "--all-namespaces") else _namespace(command)
        for each, part in _verbs(verb, command.flags, is_named, minor):
            asked = resource._replace(name=f"{resource.name}/{part}") if part else resource
            yield Request(each, asked, where, name if is_named else "", is_named)
    if verb == "drain" and words[1:]:
        pods = RESOURCES["pods"]
        yield Request("list", pods, None)
        if "--disable-eviction" not in command.flags:
            yield Request("create", pods._replace(name="pods/eviction"), None)


def _verbs(verb: str, flags: dict[str, str], is_named: bool, minor: int | None) -> Iterator[tuple[str, str]]:
    """Verbs, each with a subresource, on the resource that a command names."""
    reads = "get" if is_named else "list"
    if verb == "get":
        yield reads, ""
        if _has(flags, "-w", "--watch"):
            yield "watch", ""
    elif verb == "describe":
        yield reads, ""
    elif verb == "wait":
        yield reads, ""
        if flags.get("--for") != "create":
            if minor is not None and minor < 35:  # from then on it streams what is there through the watch
                yield "list", ""
            yield "watch", ""
    elif verb in _READ_AND_PATCHED or verb == "drain":
        yield reads, ""
        if "--list" not in flags:
            yield "patch", ""
    elif verb == "delete":
        if not is_named:
            yield "list", ""
        yield "delete", ""
    elif verb == "scale":
        yield reads, ""
        if "--resource-version" not in flags:
            yield "patch", "scale"


def _named(words: tuple[str, ...], flags: dict[str, str]) -> Iterator[tuple[Resource, str, bool]]:
    """The resources that are meant, each with a name and whether it is about one object."""
    if not words:
        return
    is_many = _has(flags, "-l", "--selector", "--all", "--field-selector")
    if "/" in words[0]:
        for kind, _, name in (word.partition("/") for word in words if "/" in word and "=" not in word):
            if kind in RESOURCES and name:
                yield RESOURCES[kind], _literal(name), True
        return
    name = _literal(words[1]) if len(words) > 1 else ""
    for kind in words[0].split(","):
        if kind in RESOURCES:
            yield RESOURCES[kind], name, len(words) > 1 and not is_many


def _created(command: Command, words: tuple[str, ...]) -> Iterator[Request]:
    where = _namespace(command)
    if words[:1] == ("token",):
        account = RESOURCES["serviceaccounts"]._replace(name="serviceaccounts/token")
        yield Request("create", account, where, _literal(words[1]) if len(words) > 1 else "", True)
    elif words and words[0] in RESOURCES and len(words) > _CREATED.get(words[0], 1):
        resource = RESOURCES[words[0]]
        yield Request("create", resource, None if resource.is_cluster else where)


def _literal(name: str) -> str:
    """A name that stands in the text; empty for a variable."""
    return "" if "$" in name or "*" in name else name


def _namespace(command: Command) -> str | None:
    return command.flags.get("--namespace", command.flags.get("-n", ""))


def _has(flags: dict[str, str], *names: str) -> bool:
    return any(flags.get(name, "false") != "false" for name in names)
