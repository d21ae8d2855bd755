"""Advice of a trace: the changed workload or cluster passes the step, and no advice is impossible or senseless."""

import re
from typing import Any, get_args

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.parts.workload_kinds import frameworks, spec_frameworks
from gpuc.spec.platform import Framework
from gpuc.trace import Step
from tests.trace.test_counted import QUEUE, index, trace
from tests.trace.test_nodes import CMR, G6, G6_48, KUEUE, LABELS, TWO, ZONES, anti, job, need, other, pod, pool, result

RESTRICTED = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
CONTAINER = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_d23_the_spec_accepts_every_framework_that_advice_names() -> None:
    assert set(get_args(Framework)) == spec_frameworks().keys() < frameworks()


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_d23_how_kueue_manages_a_kind_follows_the_advice(kind: str) -> None:
    template: dict[str, Any] = {
        "replicas": 1,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": pod(cpu="1", securityContext=RESTRICTED)},
        **({"serviceName": "run"} if kind == "StatefulSet" else {}),
    }
    template["template"]["spec"]["containers"][0]["securityContext"] = CONTAINER
    found = trace(index("prod-use1", policies=False), kind, template, "search-serving", api="apps/v1")
    (fix,) = [step.fix for step in found.steps if step.verdict == "bypassed" and step.fix]
    name = kind.lower()
    where = "one of the namespaces research-lab, research-train, search-train, with a LocalQueue of the namespace"
    change = f"create the workload in {where} (namespace search-serving has none)"
    assert fix == f"add {name} to kueue.frameworks of the spec, and {change}"
    assert name in get_args(Framework)
    followed = index("prod-use1", policies=False, frameworks=f"batch/job, {name}")
    found = trace(followed, kind, template, "research-train", "research", api="apps/v1")
    assert found.bypass == ""


def failed(work: Manifest, objects: list[Manifest]) -> Step:
    found = result(work, *objects).failure
    assert found is not None
    return found


def containers(work: Manifest) -> list[dict[str, Any]]:
    specs: list[dict[str, Any]] = work.body["spec"]["template"]["spec"]["containers"]
    return specs


def follow(fix: str, work: Manifest) -> None:
    """Changes the workload as the advice says."""
    spec = work.body["spec"]
    limits = containers(work)[0]["resources"]["limits"]
    if match := re.fullmatch(r"remove the request of (\S+) from the pods, or .*", fix):
        limits.pop(match[1])
    elif match := re.fullmatch(r"request at most (\S+) (\S+) in one pod", fix):
        assert match[1] != "0"
        limits[match[2]] = match[1]
    elif match := re.fullmatch(r"run at most (\d+) such pods(?: at the same time in flavor \S+)?", fix):
        assert int(match[1]) > 0
        spec["parallelism"] = spec["completions"] = int(match[1])
    elif match := re.fullmatch(r"in the node selector, set (\S+) to (\S+)(?: or .*)?", fix):
        spec["template"]["spec"]["nodeSelector"][match[1]] = match[2]
    elif match := re.fullmatch(r"use LocalQueue (\S+)", fix):
        work.labels[QUEUE] = match[1]
    else:
        raise AssertionError(fix)


FLAVOR = other("kueue.x-k8s.io/v1beta2", "ResourceFlavor", "h100", {"spec": {"nodeLabels": {"pool": "gpu"}}})
LABELLED = pool("gpu", G6_48, labels={"pool": "gpu"}, **TWO)


@pytest.mark.parametrize(
    ("work", "objects"),
    [
        (job(pod(8)), [pool("general", CMR)]),
        (job(pod(3)), [pool("gpu", G6)]),
        (job(pod(1, cpu="64")), [pool("gpu", G6)]),
        (job(pod(1, limits={"hugepages-2Mi": "2Mi"})), [pool("gpu", G6)]),
        (job(pod(8), 9), [pool("gpu", G6_48, **TWO)]),
        (job(pod(1, **anti("kubernetes.io/hostname")), 3), [pool("gpu", G6_48, ZONES, **TWO)]),
        (job(pod(1, nodeSelector={"pool": "gpus"})), [pool("gpu", G6, labels={"pool": "gpu"})]),
        (job(pod(1, nodeSelector={"kubernetes.io/arch": "arm64"})),
         [pool("gpu", G6, need("kubernetes.io/arch", "In", "amd64"))]),
        (job(pod(8), labels={QUEUE: "team"}), [*KUEUE, FLAVOR, LABELLED]),
        (job(pod(8, cpu="1"), 3, labels={QUEUE: "main"}), [*KUEUE, FLAVOR, LABELLED]),
    ],
)  # fmt: skip
def test_d23_advice_that_is_followed_changes_the_step(work: Manifest, objects: list[Manifest]) -> None:
    before = failed(work, objects)
    follow(before.fix, work)
    after = result(work, *objects).failure
    assert after is None or (after.stage, after.message) != (before.stage, before.message), before.fix


def test_d23_one_name_is_not_suggested_twice() -> None:
    found = failed(job(pod(8), labels={QUEUE: "mian"}), [*KUEUE, FLAVOR, LABELLED])
    assert found.fix == "use LocalQueue main"


def test_d23_limits_below_one_node() -> None:
    found = failed(job(pod(1)), [pool("gpu", G6, limits={"cpu": "1"})])
    assert found.fix == "raise the limits of node pool gpu"
