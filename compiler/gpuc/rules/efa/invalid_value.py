from __future__ import annotations

from typing import TYPE_CHECKING

from gpuc.model import Cluster
from gpuc.rules import Findings, rule
from gpuc.rules.efa._environment import profile_variables

if TYPE_CHECKING:
    from gpuc.catalog.operations import NcclVariable


@rule("EFA104", source="NCCL user guide, environment variables")
def invalid_value(cluster: Cluster) -> Findings:
    """An environment variable of NCCL has a value that NCCL does not accept.

    NCCL either stops with an error in every pod, or uses its default without a warning.
    """
    for path, profile, name, value in profile_variables(cluster):
        variable = cluster.catalog.nccl.variables.get(name)
        expected = _expected(variable, value) if variable else ""
        if expected:
            actual = f"{name} of NCCL profile {profile} is {value or 'an empty string'}"
            yield path, f"{actual}; expected {expected}"


def _expected(variable: NcclVariable, value: str) -> str:
    """Returns the allowed values for the message, or an empty string if the value is allowed."""
    if variable.type == "bool":
        return "" if value.lower() in ("0", "1", "true", "false") else "0 or 1"
    if variable.type == "int":
        return _expected_number(variable, value)
    words = value.lstrip("^").split(",") if variable.type == "list" else [value]
    known = {word.lower() for word in variable.values}
    # NCCL also accepts numbers for named levels, and lists of algorithms by collective. This rule checks neither.
    is_level = value.isdigit() and not any(word.isdigit() for word in known)
    if not known or is_level or ":" in value:
        return ""
    return "" if all(word.strip().lower() in known for word in words) else ", ".join(variable.values)


def _expected_number(variable: NcclVariable, value: str) -> str:
    """Returns the allowed numbers for the message, or an empty string if the value is an allowed number."""
    low, high = variable.minimum, variable.maximum
    try:
        number = int(value)
    except ValueError:
        return "a whole number"
    if (low is None or number >= low) and (high is None or number <= high):
        return ""
    if low is None or high is None:
        return f"at most {high}" if low is None else f"at least {low}"
    return f"{low} to {high}"
