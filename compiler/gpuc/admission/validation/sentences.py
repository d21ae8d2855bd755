"""The sentences that a row of a table (see table.py) can contain: conditions, relations, and constraints.

A relation compares a field with other fields. It is one of these sentences; parts in parentheses are optional:

    required (: REASON)                     the field must be a text that is not empty
    missing if CONDITION (: REASON)         if the condition holds: the field must not be missing
    if CONDITION: MESSAGE (=> FIX)          if the condition holds and the field is present: a problem
    if CONDITION expected VALUES (=> FIX)   if the condition holds: the field must have one of the values
    always if CONDITION: MESSAGE (=> FIX)   if the condition holds: a problem, also of a missing field
    forbidden if CONDITION (=> FIX)         if the condition holds: the pod or container must not set the field
    must be A or B (, missing as C)         the field must have one of the values
    default VALUE (if CONDITION)            no check: sets a missing field, and the maps around it; without CONDITION,
                                            the field must be missing

A condition has terms with " and " between them: "a" (is present), "no a", "some a" (not empty), "empty a", "a = x|y",
"a != x|y", "a > 5". The names are fields of the structure that has the field; "this" is the field itself, or the item
of a list. "pod:a" is a field of the structure that the table "pod" checks, and "root:a" a field of the document.

A message can have names of fields in braces, also {this}, {field} for the name of the field, {path}, {owner} for the
pod or the container with the field, and {root/kind} for a field of the document. A fix follows " => ".
"""

import json
import re
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from gpuc.admission.validation.constraints import at_least, one_of
from gpuc.admission.validation.field import Field, Problem, Problems, number, text

Check = Callable[[Field], Iterable[Problem]]
Names = tuple[str, ...]
"""The path from a structure to a field; empty for the structure itself."""
Relation = Callable[[Field, Names], Iterable[Problem]]
"""A check of a field, which may be missing, in a structure."""
Condition = Callable[[Field, Names], bool]
_NAME = re.compile(r'"[^"]*"|[^"/]+')
_TERM = re.compile(r"(?:(no|some|empty) )?(?:(\w[\w ]*):)?(\S+)(?: (=|!=|>) (.+))?")


def names_of(path: str) -> Names:
    """Returns the names in a path: ("root", "kind") for root/kind."""
    return tuple(name.strip('"') for name in _NAME.findall(path))


def _target(owner: Field, names: Names) -> Field:
    return owner.at(*names) if names else owner


def with_default(check: Check, default: Any, owner: Field, names: Names) -> Iterable[Problem]:
    """Runs a check on a field. If the field is missing, the check gets the default."""
    field = owner.at(*names)
    return check(field.reads(default) if field.value is None else field)


def when(check: Check, holds: Condition, owner: Field, names: Names) -> Iterable[Problem]:
    """Runs a check on a field, but only if a condition holds."""
    return check(_target(owner, names)) if holds(owner, names) else ()


def literal(word: str) -> Any:
    """Returns the value that a word in a table means: None for "none", a JSON value, or else the word itself."""
    if word == "none":
        return None
    try:
        return json.loads(word)
    except ValueError:
        return word


def condition(sentence: str) -> Condition:
    """Returns the function that evaluates a condition such as "some a and b = x|y"."""
    terms = [_term(term) for term in sentence.split(" and ")]
    return lambda owner, names: all(term(owner, names) for term in terms)


def _term(term: str) -> Condition:
    match = _TERM.fullmatch(term)
    assert match is not None, term
    word, table, path, operator, operand = match.groups()
    first, *steps = names_of(path)
    values = [(type(value), value) for value in map(literal, re.split(r"\| ?", operand or ""))]
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
        structure = owner.root if table == "root" else owner.within(table) if table else owner
        return test(structure.get(*(names if first == "this" else (first,)), *steps))

    return holds


class _Words(dict[str, Any]):
    """The values of the names in the braces of a message."""

    def __init__(self, owner: Field, names: Names = ()) -> None:
        this = owner.get(*names)
        super().__init__(this=str(this).lower() if isinstance(this, bool) else this, field=names[-1] if names else "")
        self["path"] = ".".join(names)
        self._owner = owner

    def __missing__(self, name: str) -> Any:
        if name == "owner":
            return self._owner.holder
        first, *steps = name.split("/")
        value = self._owner.root.get(*steps) if first == "root" else self._owner.get(first, *steps)
        return "" if value is None else value


def _required(reason: str | None) -> Relation:
    def relation(owner: Field, names: Names) -> Iterable[Problem]:
        return () if text(owner.get(*names)) else (owner.at(*names).missing(reason or ""),)

    return relation


def _problem_if(sentence: str, problem: Callable[[Field, Names], Problem]) -> Relation:
    holds = condition(sentence)
    return lambda owner, names: (problem(owner, names),) if holds(owner, names) else ()


def _missing_if(sentence: str, reason: str | None) -> Relation:
    text = reason or ""
    return _problem_if(sentence, lambda owner, names: owner.at(*names).missing(text.format_map(_Words(owner, names))))


def _refused_if(sentence: str, form: str, message: str, fix: str | None) -> Relation:
    def problem(owner: Field, names: Names) -> Problem:
        words, field = _Words(owner, names), _target(owner, names)
        refuse = field.problem if form == ": " else field.invalid
        return refuse(message.format_map(words), (fix or "").format_map(words))

    return _problem_if(sentence, problem)


def _forbidden_if(sentence: str, fix: str | None) -> Relation:
    return _refused_if(sentence, ": ", "{owner} sets {path} to {this}", fix or "remove {path} from {owner}")


def _must_be(words: str, default: str | None) -> Relation:
    allowed, missing = words.split(" or "), literal(default) if default else None

    def relation(owner: Field, names: Names) -> Iterable[Problem]:
        if owner.get(*names) in allowed:
            return ()
        field = _target(owner, names)
        return ((field.reads(missing) if field.value is None else field).invalid(words),)

    return relation


def _default(word: str, sentence: str | None) -> Relation:
    holds, default = condition(sentence or "no this"), literal(word)

    def relation(owner: Field, names: Names) -> Iterable[Problem]:
        structure = owner.value if holds(owner, names) else None
        for name in names[:-1]:
            structure = structure.setdefault(name, {}) if isinstance(structure, dict) else None
        if isinstance(structure, dict):
            structure[names[-1]] = deepcopy(default)
        return ()

    return relation


RELATIONS: dict[str, Callable[..., Relation]] = {
    r"default (.+?)(?: if (.+))?": _default,
    r"required(?:: (.+))?": _required,
    r"missing if (.+?)(?:: (.+))?": _missing_if,
    r"(?:always )?if (.+?)(: | expected )(.+?)(?: => (.+))?": _refused_if,
    r"forbidden if (.+?)(?: => (.+))?": _forbidden_if,
    r"must be (.+?)(?:, missing as (\S+))?": _must_be,
}


def _one_of(words: str, empty: str | None, field: Field) -> Problems:
    if field.value or not empty:
        yield from one_of(field, [literal(word) for word in words.split()])


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


def _unique(paths: str, lists: str | None, message: str, field: Field) -> Problems:
    """Checks that items of a list, or of the lists below, have different names. Missing names are not the same."""
    found, rows = set(), list(field.rows()) if isinstance(field.value, list) else [field]
    if lists:
        rows = [row for owner in rows for name in lists.split() for row in owner.rows(name)]
    for row in rows:
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


FORMS: dict[str, Callable[..., Iterable[Problem]]] = {
    r"one of (.+?)( or empty)?": _one_of,
    r"(\d+) or more": lambda low, field: at_least(field, int(low)),
    r"(\d+) to (\d+)( or 0)?": _between,
    r"needs one of (.+)": _needs_one,
    r"at most (\d+) (.+)": _most,
    r"unique (.+?)(?: in (.+?))?: (.+)": _unique,
    r"exactly one of (.+)": _exactly_one,
    r"pattern /(.+)/ expected (.+)": _pattern,
    r"unchecked(?:: (.+))?": _not_checked,
}
"""Constraints of a field that is present."""
