"""Reads YAML values without quotes, and finds values that other YAML parsers read differently, such as `no`."""

import re
from math import isfinite
from typing import Any

from gpuc.diagnostics.finding import Rule, rule_table

rule_of = rule_table(__file__)
NORWAY = rule_of("YAML007")
NUMBER_FORM = rule_of("YAML008")
SEXAGESIMAL = rule_of("YAML009")
TIMESTAMP = rule_of("YAML010")
NUMBER_RANGE = rule_of("YAML020")

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
    """Returns the value of a scalar without quotes, and the rule that it violates; None if it violates no rule.

    If a scalar violates a rule, its value is its text. gpuc reads specs as YAML 1.2; kubectl, Helm and Argo CD read the
    output as YAML 1.1. So gpuc refuses a scalar that has another meaning in YAML 1.1.

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
    """Returns the fix for a scalar that violates a rule: a text that all YAML parsers read in the same way."""
    if rule is NORWAY:
        return f'replace {text} by {"true" if text.lower() in _TRUE_WORDS else "false"}, or by "{text}" for a string'
    if rule is NUMBER_FORM:
        return f'replace {text} by "{text}" for a string, or by the number in decimal digits'
    return f'put the value in quotes: "{text}"'
