"""Reads tables from files whose names end with .rows. A table lists the constraints of the fields of a structure.

A structure is a part of an object, for example a container. The API server, a webhook or a controller refuses an object
whose fields do not meet the constraints.

A section of a file is a table. The heading of the section has the name of the table in brackets, or several names. If
the API server is not the program that refuses the structure, the name of this program follows: "webhook of Kueue", or
"controller of KubeRay". Such a controller creates no pods for an object that the API server has accepted. Lines that
begin with spaces continue a row.

A row has a path, two spaces or more, and constraints with " | " between them. A path has dots between its steps. After
the name of a list comes "[]", and after the name of a map comes "{}". The path "." is the structure itself. "a/b" is a
field b of a structure a that may be missing. "a,b" are two fields, and "a[],b[]" are two lists. A name with dots has
quotes.

    volumeMounts[].subPath,subPathExpr  relative path
    volumeMounts[].subPathExpr          if some subPath and some this: subPath and subPathExpr are both set

A constraint is one of four things: the name of another table, the name of a function, the name of one of `CONSTRAINTS`,
or a sentence (see `sentences`). These names are the same for all files. The name of a function in a table has spaces:
"names of pods" is the function `_names_of_pods`.

A constraint applies to a field that is present. With ", missing as 0", the constraint also applies to a missing field.
A condition can follow after " when ". The name of a function can follow after " after ": this function first changes a
copy of the field, as a controller does. Sentences that compare a field with other fields are relations. Only relations
that begin with "if" need a field that is present.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gpuc.admission.validation.constraints import CONSTRAINTS
from gpuc.admission.validation.field import Field, Problem
from gpuc.admission.validation.sentences import (
    FORMS,
    RELATIONS,
    Check,
    Names,
    Relation,
    condition,
    literal,
    names_of,
    when,
    with_default,
)

CONTROLLER = "controller of "
"""The start of the name of a program that refuses an object after its creation."""
_HEADING = re.compile(r"\[(.+)\] ?(.*)")
_STEP = re.compile(r'(?:"[^"]*"|[^".])+')


class Tables:
    """The tables of constraints in some .rows files. The constraints of a table are parsed at its first use."""

    def __init__(self, files: Iterable[Path], functions: Mapping[str, Callable[..., Any]]) -> None:
        """Reads the files.

        Args:
            functions: the functions that rows name, by name.

        Raises:
            ValueError: when two tables have the same name.
        """
        self.functions: dict[str, Callable[..., Any]] = {**CONSTRAINTS, **functions}
        self._programs: dict[str, str] = {}
        self._rows: dict[str, list[str]] = {}
        self._nodes: dict[str, _Node] = {}
        rows: list[str] = []
        for line in (line for file in files for line in file.read_text(encoding="utf-8").splitlines()):
            if heading := _HEADING.fullmatch(line):
                rows = []
                for table in heading[1].split(", "):
                    if table in self._rows:
                        raise ValueError(f'two tables have the name "{table}"')
                    self._rows[table], self._programs[table] = rows, heading[2]
            elif line.startswith(" "):
                rows[-1] += f" {line.strip()}"
            elif line and not line.startswith("#"):
                rows.append(line)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __contains__(self, table: object) -> bool:
        return table in self._rows

    def rows(self, table: str) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yields each constraint of a table with the path of its field, such as ("volumeMounts[]", "subPath")."""
        for row in self._rows[table]:
            path, _, constraints = row.partition("  ")
            for steps in product(*(step.split(",") for step in _STEP.findall(path))):
                for constraint in constraints.strip().split(" | "):
                    yield steps, constraint

    def problems(self, table: str, structure: Field) -> list[Problem]:
        """Returns a problem for each constraint of a table that the structure, for example a container, violates."""
        found: list[Problem] = []
        (self._nodes.get(table) or self._read(table)).collect(structure.of_table(table), found)
        program = self._programs[table]
        return [replace(problem, check=program) for problem in found] if program else found

    def _read(self, table: str) -> "_Node":
        root = self._nodes[table] = _Node()
        for steps, constraint in self.rows(table):
            self._add(root, steps, constraint)
        return root

    def _add(self, root: "_Node", steps: Iterable[str], constraint: str) -> None:
        owner, node, names = root, root, Names()
        for step in steps:
            owner, names = node, names_of(step.removesuffix("[]").removesuffix("{}"))
            node = owner.field(names)
            if step.endswith("[]"):
                node.items = node = node.items or _Node()
                names = ()
            elif step.endswith("{}"):
                node.entries = node = node.entries or _Node()
                names = ()
        if constraint.startswith("fields: "):
            node.known.update(constraint.split()[1:])
        elif constraint in self._rows and not self._programs[constraint]:
            node.tables.append((constraint, self._nodes.get(constraint) or self._read(constraint)))
        elif (relation := self._relation(constraint)) is None:
            node.checks.append(self._check(constraint))
        elif not names:
            node.checks.append(lambda own: relation(own, ()))
        elif constraint.startswith("if ") or " when " in constraint:
            node.guards.append(lambda own: relation(own.owner or own, names))
        else:
            owner.relations.append((names, relation))

    def _relation(self, constraint: str) -> Relation | None:
        if constraint in self.functions:
            return None
        for pattern, relation in RELATIONS.items():
            if match := re.fullmatch(pattern, constraint):
                return relation(*match.groups())
        if match := re.fullmatch(r"(.+), missing as (\S+)", constraint):
            return partial(with_default, self._check(match[1]), literal(match[2]))
        if match := re.fullmatch(r"(.+) when (.+)", constraint):
            return partial(when, self._check(match[1]), condition(match[2]))
        return None

    def _check(self, constraint: str) -> Check:
        if constraint in self._rows:
            return partial(self.problems, constraint)
        if constraint in self.functions:
            return self.functions[constraint]
        if (match := re.fullmatch(r"(.+) after (.+)", constraint)) and match[2] in self.functions:
            check, changed = self._check(match[1]), self.functions[match[2]]
            return lambda own: check(changed(own))
        for pattern, form in FORMS.items():
            if match := re.fullmatch(pattern, constraint):
                return partial(form, *match.groups())
        raise ValueError(f'a table has the unknown constraint "{constraint}"')


class _Node:
    """The constraints of a field, of its fields and of its items."""

    def __init__(self) -> None:
        self.fields: dict[str, _Node] = {}
        self.deep_fields: dict[Names, _Node] = {}
        """Fields of fields whose structure may be missing."""
        self.relations: list[tuple[Names, Relation]] = []
        """The relations of fields that may be missing."""
        self.items: _Node | None = None
        self.entries: _Node | None = None
        self.tables: list[tuple[str, _Node]] = []
        self.guards: list[Check] = []
        """The relations of the field if it is present."""
        self.checks: list[Check] = []
        self.known: set[str] = set()
        """Fields without constraints. Then rows name all fields that gpuc checks. Empty if rows name only some."""

    def field(self, names: Names) -> "_Node":
        """Returns the _Node with the constraints of a field below this one. Adds an empty _Node if there is none."""
        if len(names) == 1:
            return self.fields.setdefault(names[0], _Node())
        return self.deep_fields.setdefault(names, _Node())

    def collect(self, own: Field, found: list[Problem]) -> None:
        """Appends a problem to `found` for each violated constraint of the field, and of the fields below the field."""
        for names, relation in self.relations:
            found += relation(own, names)
        if self.fields:
            self._collect_fields(own, found)
        for names, node in self.deep_fields.items():
            if own.get(*names) is not None:
                node.collect(own.at(*names), found)
        if self.items is not None or self.entries is not None:
            self._collect_items(own, found)
        for table, node in self.tables:
            node.collect(own.of_table(table), found)
        for check in self.guards:
            found += check(own)
        for check in self.checks:
            found += check(own)

    def _collect_fields(self, own: Field, found: list[Problem]) -> None:
        for name, value in own.value.items() if isinstance(own.value, dict) else ():
            node = self.fields.get(name)
            if node is None:
                if self.known and name not in self.known:
                    found.append(own.at(name).not_checked())
            elif value is not None:
                node.collect(Field((*own.path, name), value, own), found)

    def _collect_items(self, own: Field, found: list[Problem]) -> None:
        if self.items is not None:
            for row in own.rows():
                self.items.collect(row, found)
        if self.entries is not None:
            for _, entry in own.entries():
                self.entries.collect(entry, found)
