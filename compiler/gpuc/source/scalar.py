"""Values of plain scalars in the YAML 1.2 core schema, and scalars that other YAML parsers read differently."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from gpuc.diagnostics.finding import Rule, Severity, declare_rule

_YAML11 = "https://yaml.org/type/"
_YAML12 = "https://yaml.org/spec/1.2.2/#103-core-schema"

NORWAY = declare_rule("YAML007", Severity.ERROR,
    "A word without quotes is a boolean for some YAML parsers and a string for others.",
    "YAML 1.1 reads yes, no, on, off, y and n as booleans, YAML 1.2 as strings. NO, the code of Norway, becomes false.",
    f"{_YAML11}bool.html")  # fmt: skip
NUMBER_FORM = declare_rule("YAML008", Severity.ERROR, "Different YAML parsers read a number as different values.",
    "010 is eight in YAML 1.1 and ten in YAML 1.2. 1_000 and 1e3 are numbers in one version and strings in the other. "
    "Account ids and commit ids may look like such numbers.", f"{_YAML11}int.html")  # fmt: skip
SEXAGESIMAL = declare_rule("YAML009", Severity.ERROR,
    "Some YAML parsers read digits with colons as a number in base 60.",
    "YAML 1.1 reads 12:30:00 as the number 45000.", f"{_YAML11}int.html")  # fmt: skip
TIMESTAMP = declare_rule("YAML010", Severity.ERROR,
    "A date without quotes is a timestamp for some YAML parsers and a string for others.",
    "YAML 1.1 parsers convert the string to a date and print the date differently, often in another time zone.",
    f"{_YAML11}timestamp.html")  # fmt: skip
NUMBER_RANGE = declare_rule("YAML020", Severity.ERROR, "A number does not fit into 64 bits, or is infinite or NaN.",
    "Parsers round such a number, read it as infinity or refuse it. A commit id of digits can look like such a number.",
    _YAML12)  # fmt: skip

_plain = re.compile(
    r"""(?P<null>~|null|Null|NULL|)
    |(?P<true>true|True|TRUE)
    |(?P<false>false|False|FALSE)
    |(?P<int>[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+)
    |(?P<float>[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+][0-9]+)?)
    |(?P<norway>[yY]|yes|Yes|YES|[nN]|no|No|NO|on|On|ON|off|Off|OFF)
    |(?P<form>[-+]?0[0-9]+|0o[0-7]+|[-+]?0b[01_]+|[-+]?[0-9][0-9_]*(?:\.[0-9_]*)?
        |[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+)
    |(?P<sexagesimal>[-+]?[0-9]+(?::[0-5]?[0-9])+(?:\.[0-9]*)?)
    |(?P<timestamp>[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt \t][0-9].*)?)
    |(?P<infinite>[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))""",
    re.VERBOSE | re.DOTALL,
).fullmatch

_TRUE_WORDS = ("y", "yes", "on")


def resolve(text: str) -> tuple[Any, Rule | None]:
    """Returns the value of a scalar without quotes, and the rule that the scalar violates or None.

    The value of a scalar that violates a rule is its text.

    Source: YAML 1.2.2, section 10.3. The forms that parsers read differently are from the YAML 1.1 type repository.
    """
    match = _plain(text)
    if match is None:
        return text, None
    kind = match.lastgroup
    if kind == "int":
        is_small = len(text) <= 20 and -(2**63) <= int(text, 0) < 2**63
        return (int(text, 0), None) if is_small else (text, NUMBER_RANGE)
    if kind == "float":
        return (float(text), None) if isfinite(float(text)) else (text, NUMBER_RANGE)
    ambiguous = {
        "norway": NORWAY, "form": NUMBER_FORM, "sexagesimal": SEXAGESIMAL, "timestamp": TIMESTAMP,
        "infinite": NUMBER_RANGE,
    }  # fmt: skip
    if kind in ambiguous:
        return text, ambiguous[kind]
    return {"null": None, "true": True, "false": False}[kind or "null"], None


def fix_of(rule: Rule, text: str) -> str:
    """Returns the fix for a scalar that violates a rule: a text that all parsers read as the same value."""
    if rule is NORWAY:
        return f'replace {text} by {"true" if text.lower() in _TRUE_WORDS else "false"}, or by "{text}" for a string'
    if rule is NUMBER_FORM:
        return f'replace {text} by "{text}" for a string, or by the number in decimal digits'
    return f'put the value in quotes: "{text}"'
