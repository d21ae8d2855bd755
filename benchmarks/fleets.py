"""Temporary fleets of copied example specs."""

import copy
import re
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import yaml

_MOST_NODES = re.compile(r"(nodes:(?: \{|\n +)max: )(\d+)")
_AGENT_MEMORY = re.compile(r"(memory: )(\d+)")
_RESERVATION = re.compile(r"(ids: \[cr-0a1b2c3d4e5f)6a7b8")
_QUEUED = ("train-h100", "general", "batch-a100")
_GROUP = """\
apiVersion: gpuc.dev/v1alpha1
kind: Layer
extends: [base/eks.yaml]
spec:
  nodeAgents:
    backup-agent: {cpu: 100m, memory: 200Mi}
"""
_KINDS = (*_QUEUED, "serve-a100", "lab-h100", "embed-l40s")
"""The pools of the production spec of which a large cluster has copies."""
_FIRST_INSTANCE = re.compile(r"(instances: \[[\w.-]+)")


def copy_fleet(repository: Path, to: Path, *, with_output: bool = False) -> Path:
    """Copies the specs of the repository into a new folder, and returns the folder."""
    for name in ("specs", "out", "clusters") if with_output else ("specs",):
        shutil.copytree(repository / name, to / name)
    return to


def emptying(folder: Path) -> Callable[[], None]:
    """Returns a function that deletes and recreates the folder."""

    def empty() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    return empty


def cloning(fleet: Path, link: Path) -> Callable[[], None]:
    """Returns a function that copies a fleet with its output into a new folder, as `git clone` does.

    The files have new modification times, and the link leads to the newest copy. A process that starts in the link is
    in the copy, whose path is different in each round.
    """
    numbers = count()

    def clone() -> None:
        if link.is_symlink():
            shutil.rmtree(link.resolve())
            link.unlink()
        copy = link.with_name(f"{link.name}-{next(numbers)}")
        shutil.copytree(fleet, copy, copy_function=shutil.copyfile)
        link.symlink_to(copy)

    return clone


def editing(spec: Path) -> Callable[[], None]:
    """Returns a function that edits the spec: each call gives the first pool another size.

    No two calls write the same text, so no cache of results has the result.
    """
    return _increasing(spec, _MOST_NODES)


def editing_layer(layer: Path) -> Callable[[], None]:
    """Returns a function that edits a layer of `multiply`: each call gives the node agent another amount of memory."""
    return _increasing(layer, _AGENT_MEMORY)


def _increasing(file: Path, number: re.Pattern[str]) -> Callable[[], None]:
    text, added = file.read_text(encoding="utf-8"), count(1)

    def edit() -> None:
        more = next(added)
        _write(file, _replaced(number, lambda match: f"{match[1]}{int(match[2]) + more}", text))

    return edit


def break_instance(spec: Path) -> None:
    """Misspells the first instance type of the spec, so that the compile stops with an error."""
    text = spec.read_text(encoding="utf-8")
    _write(spec, _replaced(_FIRST_INSTANCE, lambda match: f"{match[1]}x", text))


def multiply(spec: Path, clusters: int, share: int = 0) -> None:
    """Replaces the specs of the fleet with copies of a spec, with different names and the same layers.

    Args:
        clusters: the number of copies.
        share: the number of copies that share one more layer, base/group-01.yaml and so on; 0 for no such layers.
    """
    text = spec.read_text(encoding="utf-8")
    for other in spec.parent.glob("*.yaml"):
        other.unlink()
    for number in range(1, clusters + 1):
        name = f"{spec.stem}-{number:02}"
        copied = _RESERVATION.sub(rf"\g<1>{number:05}", text.replace(spec.stem, name))
        if share:
            layer = f"base/group-{-(-number // share):02}.yaml"
            _write(spec.parent / layer, _GROUP)
            copied = copied.replace("- base/eks.yaml", f"- {layer}")
        _write(spec.with_stem(name), copied)


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
    notify = body["observability"]["notify"]
    notify["routes"] = [route for route in notify["routes"] if "tenant" not in route]
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
