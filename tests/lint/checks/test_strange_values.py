"""Whatever stands in an object of a whole tree, these judges read it without a fall."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest

from gpuc.diagnostics.finding import Path
from gpuc.isolation import dns_egress as resolver
from gpuc.lint.checks import monitoring
from gpuc.lint.checks import object_consistency as inside
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from gpuc.pipeline.stages import compiled_spec
from gpuc.verify import constraints
from tests.conftest import ROOT
from tests.lint.checks.sound import unsound

STRANGE: tuple[Any, ...] = (
    None, True, 7, 0.5, "", "x y", [], [None], [["a"]], {}, {"a": {}}, [{"name": [1], "key": {}}],
    {7: {"a": 1}, "b": 2},
)  # fmt: skip
KINDS = ("NetworkPolicy", "ServiceMonitor", "PodMonitor", "PrometheusRule", "Role", "ResourceQuota", "LimitRange",
         "Job", "Application", "GpucImages", "GpucGpuQueue")  # fmt: skip
JUDGES = (resolver, monitoring, inside, constraints)


def paths(value: Any, at: Path = ()) -> Iterator[Path]:
    """The path of every value in a body."""
    if at:
        yield at
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from paths(each, (*at, key))


def put(body: Any, path: Path, value: Any) -> Any:
    made = place = deepcopy(body)
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return made


def judged(tree: ObjectSet) -> list[ObjectFinding]:
    return [finding for judge in JUDGES for finding in judge.findings(tree)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_value_may_stand_anywhere(kind: str) -> None:
    spec = compiled_spec(ROOT, "specs/prod-use1.yaml")
    values = cycle(STRANGE)
    some = [index for index, each in enumerate(spec.objects) if each.kind == kind][:4]
    for index in some:
        objects = list(spec.objects)
        for number, path in enumerate(paths(spec.objects[index].body)):
            objects[index] = replace(spec.objects[index], body=put(spec.objects[index].body, path, next(values)))
            if number < 120:
                assert (
                    unsound(judged(ObjectSet(objects, is_complete=bool(number % 2), values=spec.charts)), objects) == []
                )


@pytest.mark.parametrize("value", STRANGE, ids=repr)
def test_any_value_may_be_a_label_a_spec_or_values(value: Any) -> None:
    spec = compiled_spec(ROOT, "specs/prod-use1.yaml")
    labels = {"gpuc.dev/tenant": value, "pod-security.kubernetes.io/warn": value, "release": value}
    labelled = [replace(each, labels=labels, annotations={"gpuc.dev/why": value}) for each in spec.objects]
    filled = [replace(each, body={"spec": value, "rules": value}) for each in spec.objects]
    for objects in (labelled, filled):
        values = dict.fromkeys(("kueue", "gatekeeper"), value)
        for is_complete in (True, False):
            assert unsound(judged(ObjectSet(objects, is_complete=is_complete, values=values)), objects) == []
