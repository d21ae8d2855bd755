"""`aws` commands, compared with the models of the API in botocore. Nothing is sent to AWS."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from botocore import xform_name
from botocore.exceptions import DataNotFoundError, UnknownServiceError
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape
from botocore.session import Session
from botocore.validate import ParamValidator

from tests.readme.aws_query import query_problem
from tests.readme.aws_values import ValueProblem, value
from tests.readme.options import OptionProblem, Options, options
from tests.tables import table

_TABLE = table(__file__, "commands.yaml")["aws"]
_OUTPUTS = ("json", "text", "table", "yaml", "yaml-stream", "off")
_INPUT = ("--cli-input-json", "--cli-input-yaml", "--generate-cli-skeleton")
"""Options of all operations. With each of them, other options need not be complete."""
_PAGING = ("--max-items", "--page-size", "--starting-token")
RENAMED = {
    ("eks", operation): {"--version": "--kubernetes-version"}
    for operation in ("create-cluster", "create-nodegroup", "update-cluster-version", "update-nodegroup-version")
}
"""Options whose name differs from the parameter. Source: AWS CLI 1.46.3, awscli/customizations/argrename.py."""
_RULE_OPTIONS = ("--protocol", "--port", "--cidr", "--source-group", "--group-owner")
_RULE_OPERATIONS = [
    f"{verb}-security-group-{direction}" for verb in ("authorize", "revoke") for direction in ("ingress", "egress")
]
"""Operations that have options for one rule. Source: AWS CLI 1.46.3, awscli/customizations/ec2/secgroupsimplify.py."""
_CAPABILITIES = ("CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND")
_READING = re.compile(r"(?:describe|get|list|batch-get|search|lookup|simulate)-|wait$|get-token$")
_WRITING = ("get-session-token", "get-federation-token", "get-password-data")
"""Operations with a reading name whose result is a secret."""
_PLACEHOLDER = re.compile(r"[A-Z][A-Z0-9_]*")


def aws_problems(arguments: Sequence[str], is_mention: bool = False) -> Iterator[str]:
    """Yields the mistakes in a command `aws SERVICE OPERATION ...`.

    Args:
        arguments: the command without `aws`.
        is_mention: the command stands in a sentence, so that parameters can be missing.
    """
    try:
        words = [word for word in arguments[:2] if not word.startswith("-")]
        if len(words) < 2:
            yield "expected `aws SERVICE OPERATION`, global options after it"
            return
        service, operation, rest = words[0], words[1], list(arguments[2:])
        if f"{service} {operation}" in _TABLE["high_level"]:
            yield from _high_level(service, operation, rest)
            return
        model = _service(service)
        if operation == "wait":
            operation = _waiter(model, rest.pop(0) if rest else "")
        if operation not in (known := _operations(model.service_name)):
            yield f"aws {service} has no operation {operation}{_similar(operation, known)}"
            return
        yield from _operation(model.operation_model(known[operation]), service, operation, rest, is_mention)
    except OptionProblem as problem:
        yield str(problem)


def aws_reads(arguments: Sequence[str]) -> bool:
    """Whether a command only reads."""
    return len(arguments) > 1 and bool(_READING.match(arguments[1])) and arguments[1] not in _WRITING


def _operation(model: OperationModel, service: str, name: str, rest: list[str], is_mention: bool) -> Iterator[str]:
    shape = model.input_shape or StructureShape("Empty", {"type": "structure", "members": {}})
    renamed = RENAMED.get((service, name), {})
    members = {renamed.get(option, option): member for option, member in _member_options(shape).items()}
    given = _given(rest, _arities(shape, members, name, model.service_model.service_name))
    yield from _global(given, model.output_shape)
    parameters: dict[str, Any] = {}
    for option, texts in given.values.items():
        positive = option if option in members else f"--{option.removeprefix('--no-')}"
        if positive not in members:
            continue  # an option of all commands, or one for a rule of a security group
        member = shape.members[members[positive]]
        is_flag = member.type_name == "boolean"
        try:
            parameters[members[positive]] = option == positive if is_flag else value(texts, member)
        except ValueProblem as problem:
            yield f"{option}: {problem}"
    if name in _RULE_OPERATIONS and "--ip-permissions" in given.values and set(_RULE_OPTIONS) & set(given.values):
        yield f"{', '.join(_RULE_OPTIONS)} are not compatible with --ip-permissions"
    is_complete = not is_mention and not set(_INPUT) & set(given.values)
    yield from (
        problem
        for problem in _invalid(parameters, shape)
        if is_complete or not problem.startswith("Missing required parameter")
    )
    yield from _not_allowed(parameters, shape, "")


def _arities(shape: Shape, members: dict[str, str], name: str, service: str) -> dict[str, int | None]:
    """The number of values of the options of an operation."""
    found: dict[str, int | None] = dict.fromkeys(_INPUT, 1)
    if name in _paged(service):
        found |= dict.fromkeys(_PAGING, 1)
    if name in _RULE_OPERATIONS:
        found |= dict.fromkeys(_RULE_OPTIONS, 1)
    for option, member in members.items():
        found[option] = _arity(shape.members[member])
        if found[option] == 0:
            found[f"--no-{option[2:]}"] = 0
    return found


def _high_level(service: str, name: str, rest: list[str]) -> Iterator[str]:
    given = _given(rest, _TABLE["high_level"][f"{service} {name}"])
    yield from _global(given, None)
    for option in _TABLE["required"][f"{service} {name}"]:
        if option not in given.values:
            yield f"Missing required option {option}"
    for text in given.values.get("--capabilities", []):
        if text not in _CAPABILITIES:
            yield f"--capabilities {text}: expected one of {', '.join(_CAPABILITIES)}"
    for text in (*given.values.get("--parameter-overrides", []), *given.values.get("--tags", [])):
        if "=" not in text:
            yield f"{text}: expected KEY=VALUE"


def _given(rest: list[str], arity: dict[str, int | None]) -> Options:
    given = options(rest, {**_TABLE["global"], **arity}, {})
    if given.words:
        raise OptionProblem(f"{given.words[0]} is not a value of an option")
    return given


def _global(given: Options, output: Shape | None) -> Iterator[str]:
    regions = _regions()
    for region in given.values.get("--region", []):
        if region not in regions and not _PLACEHOLDER.fullmatch(region):
            yield f"--region {region}: AWS has no region with this name"
    for form in given.values.get("--output", []):
        if form not in _OUTPUTS:
            yield f"--output {form}: expected one of {', '.join(_OUTPUTS)}"
    for query in given.values.get("--query", []):
        if problem := query_problem(query, output):
            yield problem


def _invalid(parameters: dict[str, Any], shape: Shape) -> list[str]:
    """The problems that botocore itself reports before it sends a request."""
    report = ParamValidator().validate(parameters, shape)
    return report.generate_report().splitlines() if report.has_errors() else []


def _not_allowed(found: Any, shape: Shape, path: str) -> Iterator[str]:
    """Yields values that the model does not list, which botocore does not check."""
    if isinstance(shape, StructureShape) and isinstance(found, dict):
        for key in found.keys() & shape.members.keys():
            yield from _not_allowed(found[key], shape.members[key], f"{path}.{key}".lstrip("."))
    elif isinstance(shape, ListShape) and isinstance(found, list):
        for item in found:
            yield from _not_allowed(item, shape.member, f"{path}[]")
    elif isinstance(shape, MapShape) and isinstance(found, dict):
        for item in found.values():
            yield from _not_allowed(item, shape.value, path)
    elif isinstance(found, str) and (allowed := getattr(shape, "enum", None)) and found not in allowed:
        yield f"{path}: found {found}, expected one of {', '.join(allowed)}"


def _arity(shape: Shape) -> int | None:
    return 0 if shape.type_name == "boolean" else None if isinstance(shape, ListShape) else 1


def _member_options(shape: Shape) -> dict[str, str]:
    """The names of members, by option."""
    return {f"--{xform_name(member, '-')}": member for member in shape.members}


def _waiter(model: ServiceModel, name: str) -> str:
    """The operation that a waiter calls."""
    waiters = {xform_name(waiter, "-"): waits for waiter, waits in _data(model.service_name, "waiters-2", "waiters")}
    if name not in waiters:
        raise OptionProblem(f"aws {model.service_name} wait has no waiter {name}{_similar(name, waiters)}")
    return xform_name(waiters[name]["operation"], "-")


@cache
def _session() -> Session:
    return Session()


@cache
def _service(name: str) -> ServiceModel:
    try:
        return _session().get_service_model(name)
    except UnknownServiceError as error:
        raise OptionProblem(f"AWS has no service {name}") from error


@cache
def _operations(service: str) -> dict[str, str]:
    return {xform_name(name, "-"): name for name in _service(service).operation_names}


@cache
def _paged(service: str) -> set[str]:
    return {xform_name(name, "-") for name, _ in _data(service, "paginators-1", "pagination")}


@cache
def _regions() -> set[str]:
    session = _session()
    return {
        region for name in session.get_available_partitions() for region in session.get_available_regions("ec2", name)
    }


def _data(service: str, file: str, key: str) -> list[tuple[str, Any]]:
    try:
        return list(_session().get_component("data_loader").load_service_model(service, file)[key].items())
    except (DataNotFoundError, UnknownServiceError):  # a service without waiters or without pages
        return []


def _similar(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {found[0]}?" if found else ""
