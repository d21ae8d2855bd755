"""Rules and findings, and the exception that ends a compile with findings."""

import os
import sys
from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache

from msgspec import Struct, json

Path = tuple[str | int, ...]
"""Steps from the root of the merged spec to a value: ("spec", "pools", "train-h100", "instances", 0)."""


class Severity(Enum):
    """The severity of a finding. An error stops the compile; a warning and an info do not."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Mark(Struct, frozen=True):
    """A position in a file: the path relative to the root of the repository, and line and column, which start at 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Related(Struct, frozen=True):
    """A second position for a finding that helps to explain it, for example where a name was first defined."""

    message: str
    """What is at this place, for example "first defined here"."""
    path: Path = ()
    """The path of the place in the merged spec. gpuc computes the mark from the path."""
    mark: Mark | None = None
    """The position in a file; None until gpuc has located the path."""
    on_key: bool = False
    """Whether the place is the key at the path instead of the value."""


class Finding(Struct, frozen=True):
    """A mistake that gpuc found: the rule, a message, and the position in a file or in the spec."""

    id: str
    """The id of the rule: a topic and three digits, for example KUE007. `gpuc explain` describes the rule."""
    severity: Severity
    message: str
    """The actual value, then the expected value, with the names of the spec and without a period at the end."""
    path: Path = ()
    """The path of the wrong value in the merged spec. gpuc computes the mark from the path."""
    mark: Mark | None = None
    """The position in a file; None until gpuc has located the path."""
    fix: str = ""
    """The change that corrects the mistake; an empty string if gpuc is not certain."""
    on_key: bool = False
    """Whether the key at the path is wrong instead of the value, for example an unknown key."""
    cluster: str = ""
    """The cluster whose compile reported the finding; an empty string if there is none."""
    related: tuple[Related, ...] = ()
    """Other places that explain the finding, in the order in which reports show them."""

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR


class Rule(Struct, frozen=True):
    """A kind of mistake that gpuc can find. `gpuc explain ID` describes the rule."""

    id: str
    severity: Severity
    title: str
    """One sentence that describes the mistake, with a period."""
    why: str = ""
    """The effect of the mistake on the cluster or on the user."""
    source: str = ""
    """The documentation or source code that proves the rule: a URL, or project, version and path."""
    level: str = ""
    """The level of an impact of `gpuc plan`; empty for a rule whose violations are findings."""
    needs: str = ""
    """What `gpuc lint` has to know about the cluster before a finding is certain, separated by commas.

    The words are those of compiler/gpuc/lint/knowledge.py; empty for a contradiction within the input."""

    @property
    def word(self) -> str:
        """The level for an impact of `gpuc plan`, or the severity for any other rule."""
        return self.level or self.severity.value

    def at(
        self,
        path: Path,
        message: str,
        *,
        fix: str = "",
        mark: Mark | None = None,
        on_key: bool = False,
        related: Iterable[Related] = (),
    ) -> Finding:
        """Returns a finding of the rule at a path in the spec, or at a position in a file."""
        return Finding(self.id, self.severity, message, path, mark, fix, on_key, related=tuple(related))


RULES: dict[str, Rule] = {}
"""All rules of the imported modules, by id."""
_MODULES: dict[str, str] = {}
"""Names of the modules that declare the rules, by rule id."""


def declare_rule(
    id: str,  # noqa: A002
    severity: Severity,
    title: str,
    why: str = "",
    source: str = "",
    module: str = "",
    level: str = "",
    needs: str = "",
) -> Rule:
    """Creates a rule and adds it to RULES, the table of all rules.

    Args:
        module: the name of the module that declares the rule; an empty string for the module of the caller.
        level: the level of an impact; an empty string for findings.
        needs: what `gpuc lint` has to know before a finding is certain.

    Raises:
        DeclarationError: when another rule has the same id.
    """
    module = module or str(sys._getframe(1).f_globals["__name__"])
    if id in RULES:
        raise DeclarationError(f"{id} is declared in {_MODULES[id]} and in {module}")
    rule = Rule(id, severity, title, why, source, level, needs)
    RULES[id], _MODULES[id] = rule, module
    return rule


@cache
def rule_rows(folder: str) -> dict[str, dict[str, str]]:
    """Reads rules.toml in a folder. Returns the keyword arguments of `declare_rule` for each rule id.

    The file contains only tables, and each text is on one line. gpuc therefore reads the file without tomllib, which
    takes four times as long: `gpuc check` reads forty such files.
    """
    rows: dict[str, dict[str, str]] = {}
    row = {}
    with open(os.path.join(folder, "rules.toml"), encoding="utf-8") as lines:
        for line in lines:
            key, _, text = line.partition(" = ")
            if line.startswith("["):
                row = rows[line.strip("[]\n")] = {}
            elif text and not line.startswith("#"):
                row[key] = json.decode(text)
    return rows


def rule_table(file: str) -> Callable[[str], Rule]:
    """Returns a function that declares a rule from rules.toml. The argument of this function is the rule id.

    Args:
        file: the `__file__` of a module in the folder with rules.toml. Each table in rules.toml has the title, why and
            source of a rule, and the severity if it is not error.
    """
    rows = rule_rows(os.path.dirname(file))

    def rule_of(id: str) -> Rule:  # noqa: A002
        texts = {**rows[id]}
        return declare_rule(id, Severity(texts.pop("severity", "error")), **texts, module=file)

    return rule_of


class DeclarationError(ValueError):
    """A wrong declaration in the source code of gpuc, for example of a rule, a policy or a field of the spec."""


class StageError(Exception):
    """A stage of the compile, such as parsing, found errors, which the exception contains. No later stage runs."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(f"{len(self.findings)} findings")

    def __reduce__(self) -> "tuple[type[StageError], tuple[tuple[Finding, ...]]]":
        return StageError, (self.findings,)


def find_rule(id: str) -> Rule | None:  # noqa: A002
    """Returns the rule with an id; None if there is none. Imports only the modules whose source contains the id.

    The import is necessary because a stored result can have findings of rules whose modules are not imported.
    """
    if id not in RULES and id[:-3].isalpha() and id[-3:].isdigit():
        from importlib import import_module

        package = os.path.dirname(os.path.dirname(__file__))
        files = (os.path.join(path, name) for path, _, names in os.walk(package) for name in names)
        for file in sorted(file for file in files if file.endswith(".py")):
            with open(file, encoding="utf-8") as opened:
                is_named = f'"{id}"' in opened.read()
            if is_named and id not in RULES:
                steps = ["gpuc", *os.path.relpath(file[:-3], package).split(os.sep)]
                import_module(".".join(step for step in steps if step != "__init__"))
    return RULES.get(id)
