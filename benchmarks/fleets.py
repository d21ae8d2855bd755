"""Temporary fleets of copied example specs."""

import copy
import re
import shutil
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import yaml

_MOST_NODES = re.compile(r"(nodes: \{max: )(\d+)")
_QUEUED = ("train-h100", "general", "batch-a100")
_KINDS = (*_QUEUED, "serve-a100", "lab-h100", "embed-l40s")
"""The pools of the production spec of which a large cluster has copies."""
_FIRST_INSTANCE = re.compile(r"(instances: \[[\w.-]+)")


def copy_fleet(repository: Path, to: Path) -> Path:
    """Copies the specs of the repository into a new folder, without output, and returns the folder."""
    shutil.copytree(repository / "specs", to / "specs")
    return to


def emptying(folder: Path) -> Callable[[], None]:
    """Returns a function that deletes and recreates the folder."""

    def empty() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    return empty


def editing(spec: Path) -> Callable[[], None]:
    """Returns a function that edits the spec: each call changes the size of the first pool between two values."""
    text = spec.read_text(encoding="utf-8")
    larger = _replaced(_MOST_NODES, lambda match: f"{match[1]}{int(match[2]) + 1}", text)
    texts = cycle((larger, text))
    return lambda: _write(spec, next(texts))


def break_instance(spec: Path) -> None:
    """Misspells the first instance type of the spec, so that the compile stops with an error."""
    text = spec.read_text(encoding="utf-8")
    _write(spec, _replaced(_FIRST_INSTANCE, lambda match: f"{match[1]}x", text))


def multiply(spec: Path, count: int) -> None:
    """Replaces the specs of the fleet with `count` copies of a spec, with different names and the same layers."""
    text = spec.read_text(encoding="utf-8")
    for other in spec.parent.glob("*.yaml"):
        other.unlink()
    for number in range(1, count + 1):
        name = f"{spec.stem}-{number:02}"
        _write(spec.with_stem(name), text.replace(spec.stem, name))


def _replaced(pattern: re.Pattern[str], by: Callable[[re.Match[str]], str], text: str) -> str:
    result, count = pattern.subn(by, text, count=1)
    if not count:
        raise ValueError(f"the spec does not contain {pattern.pattern}")
    return result


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def enlarge(spec: Path, pools: int, tenants: int, queues: int) -> None:
    """Replaces the pools, tenants and queues of the production spec with so many, of the same kinds.

    Each ten tenants share six pools and five queues, as in a cluster that grows by one department at a time. So the
    number of objects grows in proportion to the number of elements.
    """
    tree = yaml.safe_load(spec.read_text(encoding="utf-8"))
    body, kinds = tree["spec"], tree["spec"]["pools"]
    names = [f"{_KINDS[number % len(_KINDS)]}-{number // len(_KINDS):02}" for number in range(pools)]
    body["pools"] = {name: _pool(name, kinds[name.rpartition("-")[0]]) for name in names}
    body["tenants"] = {f"team-{number:03}": _tenant(number, names) for number in range(tenants)}
    body["queues"] = {f"queue-{number:02}": _queue(number, names) for number in range(queues)}
    _write(spec, yaml.safe_dump(tree, sort_keys=False))


def _pool(name: str, kind: dict[str, Any]) -> dict[str, Any]:
    pool = copy.deepcopy(kind)
    pool["nodes"] = {"max": 20}
    if "reservations" in pool["eks"]:
        pool["eks"]["reservations"]["ids"] = [f"cr-0a1b2c3d4e5f6a7{name[-2:]}"]
    return pool


def _tenant(number: int, pools: list[str]) -> dict[str, Any]:
    name = f"team-{number:03}"
    tenant: dict[str, Any] = {
        "members": {"groups": [f"oidc:{name}"], "role": "edit"},
        "costCentre": f"CC-{10000 + number}",
        "isolation": "network",
        "namespaces": {f"{name}-train": {"podSecurity": "baseline"}},
        "network": {"egress": [{"cidr": f"10.{20 + number}.0.0/24", "ports": [443], "why": "data sets"}]},
    }
    serving = f"serve-a100-{number // 10:02}"
    if number % 5 == 0 and serving in pools:
        quota = {serving: {"slices": {"3g.40gb": 8, "2g.20gb": 8, "1g.10gb": 16}}}
        tenant["namespaces"][f"{name}-serving"] = {"podSecurity": "baseline", "queues": [], "quota": quota}
    return tenant


def _queue(number: int, pools: list[str]) -> dict[str, Any]:
    unit = f"{number // 5:02}"
    quota = {"nodes": 4, "borrow": "all", "lend": "all"}
    return {
        "tenants": [f"team-{2 * number:03}", f"team-{2 * number + 1:03}"],
        "cohort": "company",
        "quota": {name: quota for kind in _QUEUED if (name := f"{kind}-{unit}") in pools},
        "weight": 1,
        "preempt": {"withinQueue": "lower-priority", "reclaim": "any"},
    }
