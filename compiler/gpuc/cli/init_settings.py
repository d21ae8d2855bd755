"""The settings of a new fleet, from options of `gpuc init`, answers on a terminal, and defaults."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gpuc.cli.command import choice_of
from gpuc.cli.init import SUBSTRATES, substrate_facts
from gpuc.cli.requirement import EXPECTED, requirement_problem
from gpuc.diagnostics.usage import UsageError

OWN_ARGO_CD, HUB = "in-cluster", "hub"
ENGINES = ("vpc-cni", "cilium")
EXAMPLE_REPO = "https://git.example.com/platform/gpu-fleet.git"


class Settings(Struct, frozen=True):
    """The settings of a new fleet and of its first cluster. The reference of the spec language explains the values."""

    name: str = "dev-use1"
    substrate: str = next(iter(SUBSTRATES))
    region: str = "us-east-1"
    kubernetes: str = "1.35"
    network_policy_engine: str = "vpc-cni"
    argocd: str = OWN_ARGO_CD
    server: str = ""
    """The URL of the cluster in Argo CD."""
    repo: str = EXAMPLE_REPO
    requirement: str = ""
    """The line of requirements.txt that installs gpuc; empty if requirements.txt exists already."""


class Question(NamedTuple):
    """A setting of a new fleet: an option of `gpuc init`, or a question if a terminal is present."""

    field: str
    metavar: str
    """The value of the option in the usage."""
    text: str
    """The meaning of the value: the help of the option, and the question."""
    expected: str
    """The allowed form of the value."""
    model: str = ""
    """The module in gpuc and the class with the field, for example "spec.cluster.Metadata". Help does not load it."""
    choices: tuple[str, ...] = ()

    @property
    def option(self) -> str:
        """The name of the option, for example --network-policy-engine."""
        return f"--{self.field.replace('_', '-')}"

    def problem(self, value: str) -> str:
        """Returns why an answer is wrong; an empty text for a correct answer."""
        if self.choices:
            return "" if value in self.choices else f"expected {self.expected}"
        if not self.model:
            return requirement_problem(value)
        from importlib import import_module

        from pydantic import TypeAdapter, ValidationError

        module, _, name = self.model.rpartition(".")
        fields = getattr(import_module(f"gpuc.{module}"), name).model_fields
        try:
            TypeAdapter(fields[self.field].rebuild_annotation()).validate_python(value)
        except ValidationError:
            return f"expected {self.expected}"
        return ""


def questions() -> tuple[Question, ...]:
    """Returns the questions in the order in which `gpuc init` asks them.

    The substrate is the first, because it has own defaults for the others.
    """
    return (
        _choice(
            "substrate", "PLACE", "where the cluster runs: in a cloud, or on machines that exist", tuple(SUBSTRATES)
        ),
        Question(
            "name",
            "NAME",
            "the name of the cluster and of its spec",
            "a letter, then lower-case letters, digits and hyphens, at most 40 characters, for example dev-use1",
            "spec.cluster.Metadata",
        ),
        *(
            Question(field, field.upper(), row["text"], row["expected"], row["model"])
            for substrate in SUBSTRATES
            for field, row in substrate_facts(substrate).items()
            if "model" in row
        ),
        _choice("kubernetes", "VERSION", "the version of Kubernetes", _kubernetes_versions()),
        _choice("network_policy_engine", "ENGINE", "the program that enforces NetworkPolicies", ENGINES),
        _choice("argocd", "PLACE", "whether Argo CD runs in the cluster or in another cluster", (OWN_ARGO_CD, HUB)),
        Question(
            "server",
            "URL",
            "with --argocd hub: the URL of the cluster in Argo CD, as `argocd cluster list` prints it",
            "an https URL such as https://prod-use1.example.com",
            "spec.platform.Destination",
        ),
        Question(
            "repo",
            "URL",
            "the URL of the new Git repository, from which Argo CD reads the output",
            f"an address that begins with https://, ssh:// or git@, such as {EXAMPLE_REPO}",
            "spec.platform.Delivery",
        ),
        # No default: no package index contains gpuc, and an invented line would fail in CI on the first push.
        Question("requirement", "LINE", "the line of requirements.txt that installs gpuc", EXPECTED),
    )


def _choice(field: str, metavar: str, text: str, choices: tuple[str, ...]) -> Question:
    return Question(field, metavar, text, choice_of(choices), choices=choices)


def complete(given: Mapping[str, str], ask: Callable[[str], str] | None, needs_requirement: bool) -> Settings:
    """Returns the settings from the options of the command, the answers of the user, and the defaults.

    Args:
        given: the values of options of `gpuc init`, by the name of the field in `Settings`.
        ask: asks a question and returns the answer; None if there is no terminal.
        needs_requirement: whether `gpuc init` writes requirements.txt.

    Raises:
        UsageError: when options are wrong, contradict each other, or are missing without a terminal.
    """
    asked = questions()
    wrong = (
        f"{question.option} {given[question.field]!r}: {problem}"
        for question in asked
        if question.field in given and (problem := question.problem(given[question.field]))
    )
    if problems := "; ".join(wrong):
        raise UsageError(problems)
    settings = _of_substrate(Settings(**given), given)
    missing = []
    for question in asked:
        is_needed = {"server": settings.argocd == HUB, "requirement": needs_requirement}.get(question.field, True)
        is_fixed = question.field in substrate_facts(settings.substrate)["fixed"]
        if question.field in given or is_fixed or not is_needed:
            continue
        default = getattr(settings, question.field)
        if ask is not None:
            settings = replace(settings, **{question.field: _answer(question, default, ask)})
            settings = _of_substrate(settings, given) if question.field == "substrate" else settings
        elif not default:
            missing.append(f"{question.option} is missing: {question.text}; expected {question.expected}")
    if missing:
        raise UsageError("; ".join(missing))
    return _with_server(settings)


def _of_substrate(settings: Settings, given: Mapping[str, str]) -> Settings:
    """Returns the settings with the values that fit their substrate.

    Raises:
        UsageError: when an option has another value.
    """
    facts = substrate_facts(settings.substrate)
    for field, value in facts["fixed"].items():
        if given.get(field, value) != value:
            option, other = f"--{field.replace('_', '-')}", f"--substrate {settings.substrate}"
            raise UsageError(f"{option} {given[field]} does not fit to {other}; expected {value or f'no {option}'}")
    defaults = {field: value for field, value in facts["defaults"].items() if field not in given}
    return replace(settings, **(defaults | facts["fixed"]))


def _answer(question: Question, default: str, ask: Callable[[str], str]) -> str:
    """Asks until the answer is correct. An empty answer is the default."""
    prompt = f"{question.text[0].upper()}{question.text[1:]}\n  {question.expected}"
    prompt += f" [{default}]: " if default else ": "
    while problem := question.problem(value := ask(prompt).strip() or default):
        prompt = f"  {problem}: "
    return value


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


def _kubernetes_versions() -> tuple[str, ...]:
    """Returns the Kubernetes versions that gpuc has schemas for and that all components support."""
    from gpuc.catalog import load
    from gpuc.catalog.schemas import builtin_versions

    def numbers(version: str) -> list[int]:
        return [int(part) for part in version.split(".")]

    components = load().releases[max(load().releases)].values()
    lowest = max(numbers(row.kubernetes_min) for row in components if row.kubernetes_min)
    highest = min(numbers(row.kubernetes_max) for row in components if row.kubernetes_max)
    return tuple(version for version in builtin_versions() if lowest <= numbers(version) <= highest)
