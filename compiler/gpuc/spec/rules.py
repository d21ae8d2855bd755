"""The rules about keys, types and values of a spec."""

from __future__ import annotations

from gpuc.diagnostics.finding import Severity, declare_rule

UNKNOWN = declare_rule("SPC001", Severity.ERROR, "A key is unknown.",
    "gpuc would ignore the key, although its author expects an effect.")  # fmt: skip
MISSING = declare_rule("SPC002", Severity.ERROR, "A required key is missing.",
    "gpuc has no default for values that decide about hardware, cost or access. "
    "The spec has to contain them.")  # fmt: skip
TYPE = declare_rule("SPC003", Severity.ERROR, "A value has the wrong type.",
    "The value that gpuc would read is not the value that the author intended.")  # fmt: skip
VALUE = declare_rule("SPC004", Severity.ERROR, "A value is not allowed.",
    "The value is out of range, is not one of the choices, or does not have the form of the field.")  # fmt: skip
CHOICE = declare_rule("SPC005", Severity.ERROR, "A map has several of its mutually exclusive keys, or none of them.",
    "gpuc cannot decide which key to use.")  # fmt: skip
NUMBER = declare_rule("SPC006", Severity.ERROR, "A text without quotes is a number.",
    "YAML reads 1.30 as the number 1.3. Versions, labels and tags are texts, and need quotes.")  # fmt: skip
