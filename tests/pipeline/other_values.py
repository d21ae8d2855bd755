"""Other valid values for the leaves of the example specs."""

import re
from typing import Any

from gpuc.diagnostics.finding import Path
from tests.tables import table

_TABLE = table(__file__, "other_values.yaml")
OTHER: dict[str, Any] = _TABLE["others"]
UNSET: dict[str, tuple[str, list[str | int], Any]] = _TABLE["unset"]
CANDIDATES: dict[str, list[Any]] = _TABLE["candidates"]
REASONS = {field: reason for reason, fields in _TABLE["reasons"].items() for field in fields}
ABSENT = ("fabric", "nccl", "whole", "internet", "gateway")
"""Keys with only one possible value: the test removes them."""


def other(path: Path, value: Any) -> Any:
    """Returns another valid value for a path of the spec."""
    keys = [step for step in path if isinstance(step, str)]
    if path == ("metadata", "name"):
        return f"{value}-2"
    if isinstance(value, bool):
        return not value
    if keys[-1] == "instances" and "reservations" in keys:
        return 16  # as many as the pool has nodes, which a rule reports
    if isinstance(value, int):
        return value - 1 if value > 1 else value + 1
    if keys[-1] == "NCCL_CROSS_NIC":
        return "0"
    if value in OTHER:
        return OTHER[value]
    amount = re.fullmatch(r"(\d+)(s|m|h|Mi|Gi)", value)
    return f"{int(amount[1]) * 2}{amount[2]}" if amount else f"{value}-2"
