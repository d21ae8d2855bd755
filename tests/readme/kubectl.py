"""`kubectl` commands: verbs, options, resources, templates and patches."""

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from gpuc.catalog.schemas import builtin_kinds, builtin_versions, custom_kinds, table
from gpuc.kubernetes.api_groups import CONSTRAINT_API
from tests import tables
from tests.readme.jsonpath import PathProblem, column_paths, template_paths
from tests.readme.options import OptionProblem, Options, options

_TABLE = tables.table(__file__, "commands.yaml")["kubectl"]
GLOBAL, SHORT, VERBS, READING = (_TABLE[part] for part in ("global", "short", "verbs", "reading"))
OPTIONAL_VALUES, ANY_FIELD, FIELD_SELECTORS = (
    _TABLE[part] for part in ("optional_values", "any_field", "field_selectors")
)
CORE, CUSTOM = _TABLE["core"], _TABLE["custom"]

PLACEHOLDER_KIND = "KIND"
_SELECTS_OBJECTS = ("get", "describe", "delete", "patch", "annotate", "label", "wait", "scale")
_HUB_RESOURCES = ("applications", "appprojects")
_HUB, _WORKLOAD = "CONTEXT_OF_THE_CLUSTER_OF_ARGO_CD", "CONTEXT_OF_"


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of objects in the API."""

    plural: str
    namespaced: bool


@cache
def resources() -> dict[str, set[Resource]]:
    """The resources that a word after a verb can mean: plural, singular, short name, with and without API group."""
    found: dict[str, set[Resource]] = {}
    kubernetes = builtin_versions()[-1]
    tables = [
        table(api, kind, kubernetes)
        for api, kind in (*custom_kinds(), *builtin_kinds(kubernetes))
        if api != CONSTRAINT_API
    ]
    for entry in filter(None, tables):
        full = f"{entry.plural}.{entry.group}" if entry.group else entry.plural
        for name in (entry.plural, entry.kind.lower(), full):
            found.setdefault(name, set()).add(Resource(full, entry.namespaced))
    for plural, (short, singular, namespaced) in CORE.items():
        known = found.get(plural) or {Resource(plural, namespaced)}
        for name in filter(None, (plural, short, singular)):
            found.setdefault(name, set()).update(known)
    for full, (singular, namespaced) in CUSTOM.items():
        for name in (full, full.partition(".")[0], singular):
            found.setdefault(name, set()).add(Resource(full, namespaced))
    found["crds"] = found["crd"]
    return found


def kubectl_problems(arguments: Sequence[str], text: str = "", is_mention: bool = False) -> Iterator[str]:
    """Yields the mistakes in a command `kubectl VERB ...`.

    Args:
        arguments: the command without `kubectl`.
        text: the standard input.
        is_mention: the command stands in a sentence, so that arguments can be missing.
    """
    try:
        verb, given = parsed(arguments)
        yield from _values(given)
        yield from _output(given)
        if verb in _SELECTS_OBJECTS and "--filename" not in given.values and "--raw" not in given.values:
            yield from _objects(verb, given, is_mention)
        elif verb == "auth can-i" and len(given.words) >= 2:
            yield from _can_i(given)
        elif verb == "create" and given.words:
            yield f"kubectl create {given.words[0]} is not known; write `-f FILE`"
        if (
            verb in ("apply", "create", "diff")
            and not given.words
            and not {"--filename", "--kustomize"} & given.values.keys()
        ):
            yield f"kubectl {verb} needs -f"
        if verb == "patch" and "--patch" in given.values:
            yield from _json(given.values["--patch"][0])
        if given.values.get("--filename") == ["-"]:
            yield from _documents(text)
    except OptionProblem as problem:
        yield str(problem)


def context_problem(arguments: Sequence[str], is_hub: bool) -> str:
    """Whether the command talks to the right cluster of a fleet with a hub, and needs no --context without a hub."""
    verb, given = parsed(arguments)
    context = given.values.get("--context", [""])[0]
    if verb.startswith("config "):
        return ""
    if not is_hub:
        return f"--context {context}, but the README has no variable of a context" if context else ""
    files = given.values.get("--filename", [""])[0]
    plurals = {known.plural.partition(".")[0] for word in given.words[:1] for known in _known(word.partition("/")[0])}
    of_argo_cd = given.values.get("--namespace", [""])[0] == "argocd" or any(
        word.endswith(".argoproj.io") for word in given.words
    )
    needs_hub = of_argo_cd or bool(plurals & set(_HUB_RESOURCES)) or files.endswith(("root.yaml", "project.yaml"))
    if needs_hub != (context == _HUB) or not context.startswith(_WORKLOAD):
        return f"--context {context}, expected that of {'the hub' if needs_hub else 'the cluster'}"
    return ""


def kubectl_reads(arguments: Sequence[str]) -> bool:
    """Whether a command only reads. A command with mistakes does not."""
    try:
        verb, given = parsed(arguments)
    except OptionProblem:
        return False
    return verb in READING or given.values.get("--dry-run", ["none"])[0] in ("client", "server")


def parsed(arguments: Sequence[str]) -> tuple[str, Options]:
    """The verb, for example "auth can-i", and the options and other words.

    Raises:
        OptionProblem: if kubectl does not have the verb or one of the options.
    """
    rest = list(arguments)
    while rest and rest[0].startswith("-"):  # only global options come before the verb
        option = rest.pop(0)
        del rest[: "=" not in option and GLOBAL.get(SHORT.get(option, option)) == 1]
    verb = next((found for length in (3, 2, 1) if (found := " ".join(rest[:length])) in VERBS), None)
    if verb is None:
        similar = difflib.get_close_matches(rest[0] if rest else "", VERBS, 1)
        did_you_mean = f"; did you mean {similar[0]}?" if similar else ""
        raise OptionProblem(f"kubectl has no verb {' '.join(rest[:1])}{did_you_mean}")
    short = SHORT | ({"-f": "--follow", "-p": "--previous"} if verb == "logs" else {})
    given = options(arguments, {**GLOBAL, **VERBS[verb]}, short)
    given.words = given.words[len(verb.split()) :]
    return verb, given


def _known(name: str) -> set[Resource]:
    return resources().get(name.lower(), set())


def _objects(verb: str, given: Options, is_mention: bool) -> Iterator[str]:
    if not given.words:
        yield f"kubectl {verb} needs a resource"
        return
    names = (
        [given.words[0]]
        if "/" not in given.words[0]
        else [word.partition("/")[0] for word in given.words if "/" in word]
    )
    for name in (part for word in names for part in word.split(",")):
        if name == PLACEHOLDER_KIND:
            continue
        known = _known(name)
        if not known:
            similar = difflib.get_close_matches(name, resources(), 1)
            yield f"no resource has the name {name}" + (f"; did you mean {similar[0]}?" if similar else "")
        if len(known) > 1:
            yield f"{name} can mean {' or '.join(sorted(resource.plural for resource in known))}"
        if (
            any(resource.namespaced for resource in known)
            and not {"--namespace", "--all-namespaces"} & given.values.keys()
            and not is_mention
        ):
            yield f"{name} are in namespaces: write -n or -A"
    yield from _arguments(verb, given, is_mention)


def _arguments(verb: str, given: Options, is_mention: bool) -> Iterator[str]:
    """Yields what a verb needs beside the resource."""
    changes = [word for word in given.words[1:] if "=" in word or word.endswith("-")]
    if verb in ("annotate", "label") and not changes:
        yield f"kubectl {verb} needs KEY=VALUE or KEY-"
    if verb == "patch" and not {"--patch", "--patch-file"} & given.values.keys():
        yield "kubectl patch needs -p"
    has_name = len(given.words) > 1 or "/" in given.words[0] or {"--all", "--selector"} & given.values.keys()
    if verb in ("delete", "patch") and not has_name and not is_mention:
        yield f"kubectl {verb} needs a name"


def _can_i(given: Options) -> Iterator[str]:
    name = given.words[1].partition("/")[0]
    if not given.words[1].startswith("/") and not _known(name):
        yield f"no resource has the name {name}"


def _values(given: Options) -> Iterator[str]:
    for option, allowed in OPTIONAL_VALUES.items():
        for text in given.values.get(option, []):
            if text.partition("=")[0] not in allowed:
                yield f"{option} {text}: expected one of {', '.join(allowed)}"
    allowed = {field for word in given.words[:1] for field in (*ANY_FIELD, *FIELD_SELECTORS.get(_plural(word), ()))}
    for selector in given.values.get("--field-selector", []):
        for term in selector.split(","):
            field = term.partition("=")[0].rstrip("!")
            if field not in allowed or "=" not in term:
                yield f"--field-selector {term}: expected FIELD=VALUE with a field of {', '.join(sorted(allowed))}"


def _plural(name: str) -> str:
    return next((resource.plural for resource in _known(name)), name)


def output_paths(given: Options) -> list[tuple[str, ...]]:
    """The fields that `-o jsonpath` or `-o custom-columns` reads.

    Raises:
        PathProblem: if kubectl does not accept the text.
    """
    form, sign, text = given.values.get("--output", [""])[0].partition("=")
    if form in ("jsonpath", "jsonpath-as-json", "custom-columns"):
        if not sign or not text:
            raise PathProblem(f"-o {form} needs a text after =")
        return column_paths(text) if form == "custom-columns" else template_paths(text)
    return []


def _output(given: Options) -> Iterator[str]:
    try:
        output_paths(given)
    except PathProblem as problem:
        yield str(problem)


def _json(text: str) -> Iterator[str]:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        yield f"-p {text} is not JSON: {error}"


def _documents(text: str) -> Iterator[str]:
    """Yields the mistakes in the objects on the standard input."""
    try:
        documents = [document for document in YAML(typ="safe").load_all(text) if document is not None]
    except YAMLError as error:
        yield f"the standard input is not YAML: {str(error).splitlines()[0]}"
        return
    if not documents:
        yield "-f - without an object on the standard input"
    for document in documents:
        if not isinstance(document, dict) or not {"apiVersion", "kind", "metadata"} <= document.keys():
            yield "an object on the standard input needs apiVersion, kind and metadata"
        elif table(document["apiVersion"], document["kind"], builtin_versions()[-1]) is None:
            yield f"{document['apiVersion']} has no kind {document['kind']} in gpuc's catalog"
