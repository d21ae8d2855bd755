"""Checks accept objects with any value at any path."""

from itertools import cycle
from typing import Any

import pytest
from msgspec.structs import replace

from gpuc.isolation import dns_egress
from gpuc.lint.checks import findings
from gpuc.lint.checks.consistency import object_consistency
from gpuc.lint.checks.constraints import constraints
from gpuc.lint.checks.monitoring import monitor_targets
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet
from tests.conftest import compiled_example
from tests.lanes import ci_share
from tests.lint.checks.sound import unsound
from tests.lint.texts import filled
from tests.tables import table
from tests.values import changed, paths

STRANGE: tuple[Any, ...] = (
    None, True, 7, 0.5, "", "x y", [], [None], [["a"]], {}, {"a": {}}, [{"name": [1], "key": {}}],
    {7: {"a": 1}, "b": 2},
)  # fmt: skip
KINDS = ("NetworkPolicy", "ServiceMonitor", "PodMonitor", "PrometheusRule", "Role", "ResourceQuota", "LimitRange",
         "Job", "Application", "GpucImages", "GpucGpuQueue")  # fmt: skip
CHECKS = (dns_egress, monitor_targets, object_consistency, constraints)


def findings_of(tree: ObjectSet) -> list[ObjectFinding]:
    return [finding for check in CHECKS for finding in check.findings(tree)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_any_value_is_accepted_at_any_path(kind: str) -> None:
    spec = compiled_example("prod-use1")
    values = cycle(STRANGE)
    some = [index for index, manifest in enumerate(spec.objects) if manifest.kind == kind][:4]
    for index in some:
        objects = list(spec.objects)
        for number, path in enumerate(ci_share(list(paths(spec.objects[index].body))[:120], 3)):
            objects[index] = replace(spec.objects[index], body=changed(spec.objects[index].body, path, next(values)))
            found = findings_of(ObjectSet(objects, is_complete=bool(number % 2), values=spec.charts))
            assert unsound(found, objects) == []


@pytest.mark.share(5)
@pytest.mark.parametrize("value", STRANGE, ids=repr)
def test_any_value_is_accepted_as_label_spec_or_chart_values(value: Any) -> None:
    spec = compiled_example("prod-use1")
    labels = {"gpuc.dev/tenant": value, "pod-security.kubernetes.io/warn": value, "release": value}
    labelled = [replace(manifest, labels=labels, annotations={"gpuc.dev/why": value}) for manifest in spec.objects]
    filled = [replace(manifest, body={"spec": value, "rules": value}) for manifest in spec.objects]
    for objects in (labelled, filled):
        values = dict.fromkeys(("kueue", "gatekeeper"), value)
        for is_complete in (True, False):
            assert unsound(findings_of(ObjectSet(objects, is_complete=is_complete, values=values)), objects) == []


JOINS = table(__file__, "../cases/joins.yaml")
CASES = [case["of"] for cases in JOINS["cases"].values() for case in cases if "of" in case and case.get("rules")]


@pytest.mark.share(8)
@pytest.mark.parametrize("parts", CASES, ids=str)
def test_any_value_is_accepted_in_objects_that_are_wrong_together(parts: list[Any]) -> None:
    reading = LoadedFiles()
    for number, part in enumerate(parts):
        name, changes = next(iter(part.items())) if isinstance(part, dict) else (part, {})
        reading.add(f"{number}.yaml", filled(JOINS["texts"][name], changes))
    values = cycle(STRANGE)
    for index, manifest in enumerate(reading.manifests):
        for path in ci_share(list(paths(manifest.body)), 3):
            objects = [*reading.manifests]
            objects[index] = replace(manifest, body=changed(manifest.body, path, next(values)))
            operator = {"mig": next(values), "nfd": next(values), "daemonsets": next(values)}
            stack = {"prometheus": {"prometheusSpec": next(values)}}
            charts = {"gpu-operator": operator, "kube-prometheus-stack": stack}
            assert unsound(list(findings(ObjectSet(objects, is_complete=False, values=charts))), objects) == []
