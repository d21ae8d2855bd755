"""The settings of a new fleet: options of `gpuc init`, answers on a terminal, and defaults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from gpuc.cli.requirement import EXPECTED, requirement_problem
from gpuc.diagnostics.usage import UsageError

OWN_ARGO_CD, HUB = "in-cluster", "hub"
ENGINES = ("vpc-cni", "cilium")
_METAVARS = {
    "kubernetes": "VERSION",
    "network_policy_engine": "ENGINE",
    "argocd": "PLACE",
    "server": "URL",
    "repo": "URL",
    "requirement": "LINE",
}
EXAMPLE_REPO = "https://git.example.com/platform/gpu-fleet.git"


@dataclass(frozen=True)
class Settings:
    """The settings of a new fleet and of its first cluster. The fields of the spec explain the values."""

    name: str = "dev-use1"
    region: str = "us-east-1"
    kubernetes: str = "1.35"
    network_policy_engine: str = "vpc-cni"
    argocd: str = OWN_ARGO_CD
    server: str = ""
    """The URL of the cluster in Argo CD."""
    repo: str = EXAMPLE_REPO
    requirement: str = ""
    """The line of requirements.txt that installs gpuc; empty if requirements.txt exists already."""


@dataclass(frozen=True)
class Question:
    """An option of `gpuc init`, which is also a question on a terminal."""

    field: str
    text: str
    """The meaning of the value: the help of the option, and the question."""
    expected: str
    """The allowed form of the value."""
    problem: Callable[[str], str]
    """Returns why a value is wrong; an empty string for a correct value."""

    @property
    def option(self) -> str:
        """The option, for example --network-policy-engine."""
        return f"--{self.field.replace('_', '-')}"

    @property
    def metavar(self) -> str:
        """The value of the option in the usage."""
        return _METAVARS.get(self.field, self.field.upper())

    def refusal(self, value: str) -> str:
        """Returns a message about a wrong value; an empty string for a correct value."""
        problem = self.problem(value)
        return f"{self.option} {value!r}: {problem}" if problem else ""


def questions() -> tuple[Question, ...]:
    """Returns the questions in the order in which `gpuc init` asks them."""

    def in_spec(model: str, field: str, text: str, expected: str) -> Question:
        return Question(field, text, expected, lambda value: _problem_in_spec(model, field, value, expected))

    return (
        in_spec(
            "cluster.Metadata",
            "name",
            "the name of the cluster and of its spec",
            "a letter, then lower-case letters, digits and hyphens, at most 40 characters, for example dev-use1",
        ),
        in_spec("cloud.Aws", "region", "the AWS region", "a region such as eu-central-1"),
        _choice("kubernetes", "the version of Kubernetes", _kubernetes_versions()),
        _choice("network_policy_engine", "the program that enforces NetworkPolicies", ENGINES),
        _choice("argocd", "whether Argo CD runs in the cluster or in another cluster", (OWN_ARGO_CD, HUB)),
        in_spec(
            "platform.Destination",
            "server",
            "with --argocd hub: the URL of the cluster in Argo CD, as `argocd cluster list` prints it",
            "an https URL such as https://ABC.gr7.us-east-1.eks.amazonaws.com",
        ),
        in_spec(
            "platform.Delivery",
            "repo",
            "the URL of the new Git repository, from which Argo CD reads the output",
            f"an address that begins with https://, ssh:// or git@, such as {EXAMPLE_REPO}",
        ),
        Question("requirement", "the line of requirements.txt that installs gpuc", EXPECTED, requirement_problem),
    )


def complete(given: Mapping[str, str], ask: Callable[[str], str] | None, needs_requirement: bool) -> Settings:
    """Returns the settings from options, answers and defaults.

    Args:
        given: the options by field.
        ask: asks a question and returns the answer; None if there is no terminal.
        needs_requirement: whether `gpuc init` writes requirements.txt.

    Raises:
        UsageError: when options are wrong, contradict each other, or are missing without a terminal.
    """
    all_questions = questions()
    wrong = [question.refusal(given[question.field]) for question in all_questions if question.field in given]
    if problems := list(filter(None, wrong)):
        raise UsageError("; ".join(problems))
    settings = Settings(**given)
    missing = []
    for question in all_questions:
        if question.field in given or not _is_needed(question.field, settings, needs_requirement):
            continue
        default = getattr(settings, question.field)
        if ask is not None:
            settings = replace(settings, **{question.field: _answer(question, default, ask)})
        elif not default:
            missing.append(f"{question.option} is missing: {question.text}; expected {question.expected}")
    if missing:
        raise UsageError("; ".join(missing))
    return _with_server(settings)


def _is_needed(field: str, settings: Settings, needs_requirement: bool) -> bool:
    if field == "server":
        return settings.argocd == HUB
    return field != "requirement" or needs_requirement


def _answer(question: Question, default: str, ask: Callable[[str], str]) -> str:
    """Asks until the answer is correct. An empty answer is the default."""
    prompt = f"{question.text[0].upper()}{question.text[1:]}\n  {question.expected}"
    prompt += f" [{default}]: " if default else ": "
    while True:
        value = ask(prompt).strip() or default
        refusal = question.problem(value)
        if not refusal:
            return value
        prompt = f"  {refusal}: "


def _with_server(settings: Settings) -> Settings:
    """Returns the settings with the URL of the cluster in Argo CD.

    Raises:
        UsageError: when the URL does not fit to the place of Argo CD.
    """
    from gpuc.spec.platform import OWN_SERVER

    is_own = settings.server in ("", OWN_SERVER)
    if settings.argocd == HUB and is_own:
        raise UsageError(f"--server {OWN_SERVER} is the hub itself; expected the URL of the cluster in Argo CD")
    if settings.argocd == OWN_ARGO_CD and not is_own:
        raise UsageError(f"--server {settings.server} requires --argocd {HUB}")
    return replace(settings, server=settings.server or OWN_SERVER)


def _problem_in_spec(model: str, field: str, value: str, expected: str) -> str:
    """Returns why a value is no value of a field of the spec; an empty string for a correct value.

    Args:
        model: the module in gpuc.spec and the class, for example "cloud.Aws". Help and completion do not load it.
    """
    from importlib import import_module

    from pydantic import TypeAdapter, ValidationError

    module, name = model.split(".")
    fields = getattr(import_module(f"gpuc.spec.{module}"), name).model_fields
    try:
        TypeAdapter(fields[field].rebuild_annotation()).validate_python(value)
    except ValidationError:
        return f"expected {expected}"
    return ""


def _choice(field: str, text: str, choices: tuple[str, ...]) -> Question:
    expected = " or ".join((", ".join(choices[:-1]), choices[-1]))
    return Question(field, text, expected, lambda value: "" if value in choices else f"expected {expected}")


def _kubernetes_versions() -> tuple[str, ...]:
    """Returns the Kubernetes versions that gpuc has schemas for and that all components support."""
    from gpuc.catalog import load
    from gpuc.catalog.schemas import builtin_versions

    def numbers(version: str) -> list[int]:
        return [int(part) for part in version.split(".")]

    components = list(load().releases[max(load().releases)].values())
    lowest = max(numbers(row.kubernetes_min) for row in components if row.kubernetes_min)
    highest = min(numbers(row.kubernetes_max) for row in components if row.kubernetes_max)
    return tuple(version for version in builtin_versions() if lowest <= numbers(version) <= highest)
