"""Tables of what the API server and webhooks require of the fields of a structure, in the files of the folder rows.

A section of a file is a table. The heading has the name of the table in brackets, and after it the program that refuses
the structure, if this is not the API server. Lines that begin with spaces continue the row above.

A row has a path, two spaces or more, and constraints with " | " between them. A path has dots between its steps; "[]"
follows a list, and "{}" a map; "." is the structure itself. "a/b" is a field of a structure that may be missing. "a,b"
are two fields. A name with dots has quotes.

    volumeMounts[].subPath,subPathExpr  relative path
    volumeMounts[].subPathExpr          if some subPath and some this: subPath and subPathExpr are both set

A constraint is a name in `CONSTRAINTS`, the name of another table or of a function, or a sentence of `_RELATIONS` or
`_FORMS`. It is about a field that is present, and with ", missing as 0" also about a missing field; a relation is
always about missing fields too. A constraint that is no relation can end with " when " and a condition.

A condition has terms with " and " between them: "a" (is present), "no a", "some a" (not empty), "empty a", "a = x|y",
"a != x|y", "a > 5". The names are fields of the structure that has the field; "this" is the field itself, or the item
of a list. "pod:a" is a field of the structure that the table "pod" checks.

A message can have names of fields in braces, also {this}, {field} for the name of the field, and {root/kind} for a
field of the document. A fix follows " => ".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from gpuc.admission.validation.constraints import CONSTRAINTS, at_least, one_of
from gpuc.admission.validation.field import API_SERVER, Field, Problems, number, text

Check = Callable[[Field], Problems]
Names = tuple[str, ...]
"""The path from a structure to a field; empty for the structure itself."""
Relation = Callable[[Field, Names], Problems]
"""A check of a field, which may be missing, in a structure."""
Condition = Callable[[Field, Names], bool]
_HEADING = re.compile(r"\[(.+)\] ?(.*)")
_STEP = re.compile(r'(?:"[^"]*"|[^".])+')
_NAME = re.compile(r'"[^"]*"|[^"/]+')
_TERM = re.compile(r"(?:(no|some|empty) )?(?:(\w+):)?(\S+)(?: (=|!=|>) (.+))?")
_LITERALS: dict[str, Any] = {"true": True, "false": False, "none": None, '""': "", "{}": {}}


class Tables:
    """The tables of some files. The rows of a table are read when the table is first used."""

    def __init__(self, files: Iterable[Path], functions: Mapping[str, Check]) -> None:
        """Reads the files.

        Args:
            functions: the functions that rows name, by name.
        """
        self._functions = {**CONSTRAINTS, **functions}
        self._programs: dict[str, str] = {}
        self._rows: dict[str, list[str]] = {}
        self._nodes: dict[str, _Node] = {}
        table = ""
        for line in (line for file in files for line in file.read_text(encoding="utf-8").splitlines()):
            if heading := _HEADING.fullmatch(line):
                table, self._programs[table] = heading.groups()
                self._rows[table] = []
            elif line.startswith(" "):
                self._rows[table][-1] += f" {line.strip()}"
            elif line and not line.startswith("#"):
                self._rows[table].append(line)

    def __contains__(self, table: str) -> bool:
        return table in self._rows

    def problems(self, table: str, structure: Field) -> Problems:
        """Yields the problems of a structure that a table finds."""
        program, node = self._programs[table], self._nodes.get(table) or self._read(table)
        for problem in node.problems(Field(structure.path, structure.value, structure.owner, table)):
            yield replace(problem, check=program) if program and problem.check == API_SERVER else problem

    def _read(self, table: str) -> _Node:
        root = self._nodes[table] = _Node()
        for row in self._rows[table]:
            path, _, constraints = row.partition("  ")
            for steps in product(*(step.split(",") for step in _STEP.findall(path))):
                for constraint in constraints.strip().split(" | "):
                    self._add(root, steps, constraint)
        return root

    def _add(self, root: _Node, steps: Iterable[str], constraint: str) -> None:
        """Adds a constraint to the node of its field."""
        node, is_field = root, False
        for step in steps:
            name = step.removesuffix("[]").removesuffix("{}")
            node, is_field = node.fields.setdefault(_names(name), _Node()), name == step
            if step.endswith("[]"):
                node.items = node = node.items or _Node()
            elif step.endswith("{}"):
                node.entries = node = node.entries or _Node()
        if constraint.startswith("fields: "):
            node.known.update(constraint.split()[1:])
        elif (relation := self._relation(constraint)) is None:
            node.checks.append(self._check(constraint))
        elif is_field:
            node.relations.append(relation)
        else:
            node.checks.append(lambda own: relation(own, ()))

    def _relation(self, constraint: str) -> Relation | None:
        for pattern, relation in _RELATIONS.items():
            if match := re.fullmatch(pattern, constraint):
                return relation(*match.groups())
        if match := re.fullmatch(r"(.+), missing as (\S+)", constraint):
            return partial(_with_default, self._check(match[1]), _literal(match[2]))
        if match := re.fullmatch(r"(.+) when (.+)", constraint):
            return partial(_when, self._check(match[1]), _condition(match[2]))
        return None

    def _check(self, constraint: str) -> Check:
        if constraint in self._rows:
            return partial(self.problems, constraint)
        if constraint in self._functions:
            return self._functions[constraint]
        for pattern, form in _FORMS.items():
            if match := re.fullmatch(pattern, constraint):
                return partial(form, *match.groups())
        raise ValueError(f'a table has the unknown constraint "{constraint}"')


def _names(path: str) -> Names:
    return tuple(name.strip('"') for name in _NAME.findall(path))


class _Node:
    """The constraints of a field, of its fields and of its items."""

    def __init__(self) -> None:
        self.fields: dict[Names, _Node] = {}
        self.items: _Node | None = None
        self.entries: _Node | None = None
        self.relations: list[Relation] = []
        self.checks: list[Check] = []
        self.known: set[str] = set()
        """Fields without constraints. Then rows name all fields that gpuc checks. Empty if rows name only some."""

    def problems(self, own: Field) -> Problems:
        """Yields the problems of a field that is present."""
        if self.known:
            known = self.known.union(names[0] for names in self.fields)
            yield from (field.not_checked() for name, field in own.entries() if name not in known)
        for names, node in self.fields.items():
            for relation in node.relations:
                yield from relation(own, names)
            if own.get(*names) is not None:
                yield from node.problems(own.at(*names))
        if self.items is not None:
            for row in own.rows():
                yield from self.items.problems(row)
        if self.entries is not None:
            for _, entry in own.entries():
                yield from self.entries.problems(entry)
        for check in self.checks:
            yield from check(own)


def _target(owner: Field, names: Names) -> Field:
    return owner.at(*names) if names else owner


def _with_default(check: Check, default: Any, owner: Field, names: Names) -> Problems:
    field = owner.at(*names)
    yield from check(field.reads(default) if field.value is None else field)


def _when(check: Check, condition: Condition, owner: Field, names: Names) -> Problems:
    if owner.get(*names) is not None and condition(owner, names):
        yield from check(_target(owner, names))


def _literal(word: str) -> Any:
    return _LITERALS[word] if word in _LITERALS else int(word) if word.isdigit() else word


def _condition(sentence: str) -> Condition:
    terms = [_term(term) for term in sentence.split(" and ")]
    return lambda owner, names: all(term(owner, names) for term in terms)


def _term(term: str) -> Condition:
    match = _TERM.fullmatch(term)
    assert match is not None, term
    word, table, path, operator, operand = match.groups()
    first, *steps = _names(path)
    values = [(type(value), value) for value in map(_literal, (operand or "").split("|"))]
    tests: dict[str | None, Callable[[Any], bool]] = {
        None: lambda value: value is not None,
        "no": lambda value: value is None,
        "some": bool,
        "empty": lambda value: not value,
        "=": lambda value: (type(value), value) in values,
        "!=": lambda value: (type(value), value) not in values,
        ">": lambda value: (number(value) or 0) > values[0][1],
    }
    test = tests[operator or word]

    def holds(owner: Field, names: Names) -> bool:
        structure = owner.within(table) if table else owner
        return test(structure.get(*(names if first == "this" else (first,)), *steps))

    return holds


class _Words(dict[str, Any]):
    """The values of the names in the braces of a message."""

    def __init__(self, owner: Field, names: Names = ()) -> None:
        super().__init__(this=owner.get(*names), field=names[-1] if names else "")
        self._owner = owner

    def __missing__(self, name: str) -> Any:
        first, *steps = name.split("/")
        value = self._owner.root.get(*steps) if first == "root" else self._owner.get(first, *steps)
        return "" if value is None else value


def _required(reason: str | None) -> Relation:
    def relation(owner: Field, names: Names) -> Problems:
        if not text(owner.get(*names)):
            yield owner.at(*names).missing(reason or "")

    return relation


def _missing_if(sentence: str, reason: str | None) -> Relation:
    condition = _condition(sentence)

    def relation(owner: Field, names: Names) -> Problems:
        if condition(owner, names):
            yield owner.at(*names).missing((reason or "").format_map(_Words(owner, names)))

    return relation


def _refused_if(sentence: str, form: str, message: str, fix: str | None) -> Relation:
    condition = _condition(sentence)

    def relation(owner: Field, names: Names) -> Problems:
        if condition(owner, names):
            words, field = _Words(owner, names), _target(owner, names)
            problem = field.problem if form == ": " else field.invalid
            yield problem(message.format_map(words), (fix or "").format_map(words))

    return relation


def _must_be(words: str, default: str | None) -> Relation:
    allowed, missing = words.split(" or "), _literal(default) if default else None

    def relation(owner: Field, names: Names) -> Problems:
        field = _target(owner, names)
        if field.value not in allowed:
            yield (field.reads(missing) if field.value is None else field).invalid(words)

    return relation


_RELATIONS: dict[str, Callable[..., Relation]] = {
    r"required(?:: (.+))?": _required,
    r"missing if (.+?)(?:: (.+))?": _missing_if,
    r"if (.+?)(: | expected )(.+?)(?: => (.+))?": _refused_if,
    r"must be (.+?)(?:, missing as (\S+))?": _must_be,
}
"""Sentences about a field that may be missing."""


def _one_of(words: str, empty: str | None, field: Field) -> Problems:
    if field.value or not empty:
        yield from one_of(field, [_literal(word) for word in words.split()])


def _between(low: str, high: str, zero: str | None, field: Field) -> Problems:
    if field.value or not zero:
        yield from at_least(field, int(low), int(high))


def _needs_one(words: str, field: Field) -> Problems:
    present = [name for name in words.split() if field.get(name) is not None]
    if not present:
        yield field.missing(f"expected one of {', '.join(words.split())}")
    elif len(present) > 1:
        yield field.at(present[1]).problem(f"{' and '.join(present)} are set; only one is allowed")


def _most(limit: str, words: str, field: Field) -> Problems:
    count = len(list(field.rows()))
    if count > int(limit):
        yield field.problem(f"{count} {words}; at most {limit} are allowed")


def _unique(paths: str, message: str, field: Field) -> Problems:
    """Checks that the items of a list do not have the same names. Missing names are not the same."""
    found = set()
    for row in field.rows():
        names = tuple(text(row.get(name)) for name in paths.split())
        if names in found:
            yield (row.at(*paths.split()) if len(names) == 1 else row).problem(message.format_map(_Words(row)))
        if any(names):
            found.add(names)


def _exactly_one(paths: str, field: Field) -> Problems:
    if len([name for name in paths.split() if field.get(name) not in (None, [])]) != 1:
        yield field.problem(f"expected exactly one of {' and '.join(paths.split())}")


def _pattern(pattern: str, expected: str, field: Field) -> Problems:
    if not re.fullmatch(pattern, field.text):
        yield field.invalid(expected)


def _not_checked(reason: str | None, field: Field) -> Problems:
    yield field.not_checked(reason or "")


_FORMS: dict[str, Callable[..., Problems]] = {
    r"one of (.+?)( or empty)?": _one_of,
    r"(\d+) or more": lambda low, field: at_least(field, int(low)),
    r"(\d+) to (\d+)( or 0)?": _between,
    r"needs one of (.+)": _needs_one,
    r"at most (\d+) (.+)": _most,
    r"unique (.+?): (.+)": _unique,
    r"exactly one of (.+)": _exactly_one,
    r"pattern /(.+)/ expected (.+)": _pattern,
    r"unchecked(?:: (.+))?": _not_checked,
}
"""Sentences about a field that is present."""
