"""Constraints of single values that many kinds need, for example "DNS label". Tables use the constraints by name.

Source: k8s.io/apimachinery v0.35.4 pkg/util/validation/validation.go, pkg/util/validation/field/errors.go
"""

import ipaddress
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from gpuc.admission.validation.field import Field, Problem, Problems, text
from gpuc.diagnostics.spelling import nearest
from gpuc.kubernetes.dns_name import LABEL, LABEL_1035, MAX_LABEL, MAX_NAME, SUBDOMAIN, is_label_key, is_label_value
from gpuc.kubernetes.quantity import quantity

_PERCENT = re.compile(r"[0-9]+%")
_PATH_CHARACTERS = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_PORT_NAME = "at most 15 lower-case letters, digits and single -, with at least one letter"
_RELATIVE = "a relative path without .."
_CONTAINER_RESOURCES = tuple(
    f"{field}.{name}" for field in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_LEGACY_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_APP_ARMOR_LONGEST = 4095


class Constraint(Struct, frozen=True):
    """A constraint of values of one type. A value of another type passes, because the schema check reports it."""

    is_valid: Callable[[Any], Any]
    expected: str
    corrected: re.Pattern[str] | None = None
    """The pattern of a text that is a fix if it is the value in lower case; None without a fix."""
    checks_empty: bool = True
    """Whether the constraint is about the empty text too. Otherwise the empty text is a missing value."""
    type: Any = str

    def __call__(self, field: Field) -> tuple[Problem, ...]:
        """Returns a problem if the field has a value that is not valid."""
        value = field.value
        if not isinstance(value, self.type) or (value == "" and not self.checks_empty) or self.is_valid(value):
            return ()
        changed = value.lower().replace("_", "-") if self.corrected else value
        is_fix = self.corrected is not None and changed != value and self.corrected.fullmatch(changed)
        return (field.invalid(self.expected, f"write {changed}" if is_fix else ""),)


def _matches(pattern: str, expected: str, *, checks_empty: bool = True) -> Constraint:
    return Constraint(re.compile(pattern).fullmatch, expected, checks_empty=checks_empty)


def one_of(field: Field, allowed: Collection[str]) -> Problems:
    """Checks that a field has one of the allowed texts. A value that is no text passes."""
    if isinstance(field.value, str) and field.value not in allowed:
        suggestion = nearest(field.value, sorted(allowed))
        yield field.invalid(" or ".join(allowed), f"write {suggestion}" if suggestion else "")


def at_least(field: Field, low: int, high: int | None = None) -> Problems:
    """Checks that a number is at least `low` and at most `high`. A value that is no number passes."""
    own = field.number
    if own is not None and (own < low or (high is not None and own > high)):
        yield field.invalid(f"a number from {low} to {high}" if high is not None else f"{low} or more")


def labels(field: Field) -> Problems:
    """Checks the keys and values of a map of labels."""
    for key, label in field.entries():
        yield from label_key(label.reads(key))
        yield from label_value(label)


def port(field: Field) -> Problems:
    """Checks a port, which is a number or a name."""
    yield from at_least(field, 1, 65535)
    yield from port_name(field)


def domain_path(field: Field, longest: int = MAX_LABEL) -> Problems:
    """Checks that a text begins with a domain and a slash, as the names of controllers do: example.com/controller."""
    if not isinstance(field.value, str):
        return
    domain, slash, rest = field.value.partition("/")
    is_domain = SUBDOMAIN.fullmatch(domain) is not None and len(domain) <= MAX_NAME
    if not (slash and is_domain and _PATH_CHARACTERS.fullmatch(rest)) or len(field.value) > longest:
        yield field.invalid(f"a name with a domain such as example.com/name, at most {longest} characters")


def count_or_percent(field: Field) -> Problems:
    """Checks a number of at least 0, or a percentage as text."""
    if isinstance(field.value, str) and not _PERCENT.fullmatch(field.value):
        fix = f"write {field.value}" if field.value.isdigit() else ""
        yield field.invalid("a number or a percentage such as 25%", fix)
    yield from at_least(field, 0)


def at_most_all(field: Field) -> Problems:
    """Checks that a percentage is at most 100%. A value that is no percentage passes."""
    if (percentage(field.value) or 0) > 100:
        yield field.invalid("at most 100%")


def percentage(value: Any) -> int | None:
    """Returns the number of a percentage such as 25%; None for any other value."""
    return int(value[:-1]) if isinstance(value, str) and _PERCENT.fullmatch(value) else None


def has_back_steps(path: str) -> bool:
    """Returns whether a path contains "..", with which the path could leave the volume."""
    return ".." in path.split("/")


def _is_relative(path: str) -> bool:
    return not path.startswith("/") and not has_back_steps(path)


def _is_address(value: str) -> bool:
    """Returns whether a text is an IP address. The API server allows zeros before the numbers of IPv4 addresses."""
    try:
        ipaddress.ip_address(value if ":" in value else re.sub(r"\b0+(?=[0-9])", "", value))
    except ValueError:
        return False
    return True


dns_label = Constraint(
    LABEL.fullmatch,
    f"a DNS label: at most {MAX_LABEL} lower-case letters, digits and -, first and last not -",
    LABEL,
    checks_empty=False,
)
dns_label_1035 = Constraint(
    LABEL_1035.fullmatch,
    f"a DNS label that begins with a letter: at most {MAX_LABEL} lower-case letters, digits and -",
    LABEL_1035,
)
dns_subdomain = Constraint(
    lambda value: SUBDOMAIN.fullmatch(value) and len(value) <= MAX_NAME,
    f"a DNS subdomain: at most {MAX_NAME} lower-case letters, digits, - and .",
    LABEL,
    checks_empty=False,
)
label_key = Constraint(is_label_key, "a label key: at most 63 letters, digits, -, _ and ., after an optional domain/")
label_value = Constraint(is_label_value, "a label value: at most 63 letters, digits, -, _ and .")
port_name = _matches(r"(?=.*[a-z])(?!.*--)[a-z0-9](?:[-a-z0-9]{0,13}[a-z0-9])?", _PORT_NAME)
CONSTRAINTS: dict[str, Callable[[Field], Iterable[Problem]]] = {
    "DNS label": dns_label,
    "DNS label that begins with a letter": dns_label_1035,
    "DNS subdomain": dns_subdomain,
    "IP address": Constraint(_is_address, "an IP address"),
    "label key": label_key,
    "label value": label_value,
    "labels": labels,
    "port": port,
    "port name": replace(port_name, checks_empty=False),
    "relative path": Constraint(_is_relative, _RELATIVE),
    "path in a volume": Constraint(
        lambda value: _is_relative(value) and not value.startswith(".."), _RELATIVE, checks_empty=False
    ),
    "path without ..": Constraint(lambda value: not has_back_steps(value), "a path without .."),
    "path of an AppArmor profile": Constraint(
        lambda value: value.strip() == value != "" and len(value) <= _APP_ARMOR_LONGEST,
        f"1 to {_APP_ARMOR_LONGEST} characters without spaces",
    ),
    "name with a domain": domain_path,
    "finalizer": Constraint(
        lambda value: "/" in text(value) or value in _LEGACY_FINALIZERS,
        "a name with a domain such as example.com/name",
        type=object,
    ),
    "search domain": _matches(
        r"\.|(?=.{1,253}\.?$)[a-z0-9_](?:[-a-z0-9_]*[a-z0-9_])?(?:\.[a-z0-9_](?:[-a-z0-9_]*[a-z0-9_])?)*\.?",
        "a DNS subdomain; _ is allowed",
    ),
    "resource of a container": Constraint(
        lambda value: value in _CONTAINER_RESOURCES or value.startswith(_HUGE_PAGES),
        f"{' or '.join(_CONTAINER_RESOURCES)}, or limits.hugepages-2Mi",
        checks_empty=False,
    ),
    "file mode": Constraint(
        lambda value: 0 <= value <= 0o777, "a number from 0 to 511, which is 0777 in octal", type=int
    ),
    "amount of 0 or more": Constraint(lambda value: (quantity(value) or 0) >= 0, "0 or more", type=object),
    "amount above 0": Constraint(
        lambda value: quantity(value) != 0 and (quantity(value) or 1) > 0, "more than 0", type=object
    ),
    "count or percentage": count_or_percent,
    "at most 100%": at_most_all,
}
