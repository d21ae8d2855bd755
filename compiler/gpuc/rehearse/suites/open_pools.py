"""Test cases for clusters without tenants: the workload templates of the pools, in the namespace default."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from gpuc.emit.workloads import workloads
from gpuc.kubernetes.amounts import CPU, texts
from gpuc.manifest.manifest import Manifest
from gpuc.model import Pool
from gpuc.pipeline.stages import CompiledSpec
from gpuc.rehearse.client import Object
from gpuc.rehearse.context import HOLD
from gpuc.rehearse.outcome import Outcome
from gpuc.rehearse.suites import NODES_BATCH, Case
from gpuc.rehearse.suites.boundaries import refusal_action
from gpuc.rehearse.suites.full_node import NO_NODE, STEPS
from gpuc.rehearse.suites.jobs import object_name
from gpuc.rehearse.suites.serving import bind

SUITE = "open pools"
_WITH_PODS = ("Job", "Deployment")


def cases(spec: CompiledSpec) -> Iterator[Case]:
    """Yields a pod of each workload template, a pod without tolerations, and a pod that is larger than each node."""
    cluster = spec.cluster
    if cluster.tenants:
        return
    for template in workloads(cluster):
        if isinstance(template, Manifest) and template.kind in _WITH_PODS:
            (pool,) = (pool for pool in cluster.pools if pool.path == template.origin)
            yield from _cases(pool, template)


def _cases(pool: Pool, template: Manifest) -> Iterator[Case]:
    spec = deepcopy(template.body["spec"]["template"]["spec"])
    bound = Outcome("bound", pool=pool.name, instance_types=tuple(instance.type for instance in pool.instances))
    name = f"{template.name} pod of the workload template"
    yield _case(pool, name, bound, spec)
    pending = Outcome("pending", by="scheduler" if pool.is_static else "Karpenter")
    if pool.taints:
        without = {key: value for key, value in spec.items() if key != "tolerations"}
        yield _case(pool, f"{template.name} pod without tolerations", pending, without)
    too_large = deepcopy(spec)
    largest = max(pool.tenant_allocatable(instance)[CPU] for instance in pool.instances)
    resources = too_large["containers"][0]["resources"]
    cpu = texts({CPU: largest + STEPS[CPU]})
    too_large["containers"][0]["resources"] = {key: {**amounts, **cpu} for key, amounts in resources.items()}
    message = "" if pool.is_static else NO_NODE
    expected = Outcome("pending", by=pending.by, message=message)
    yield _case(pool, f"{template.name} pod with a little more cpu than a node", expected, too_large)


def _case(pool: Pool, name: str, expected: Outcome, spec: Object) -> Case:
    spec["terminationGracePeriodSeconds"] = 0
    metadata = {"name": object_name(name), "namespace": "default", "annotations": dict(HOLD)}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    action = bind(pod) if expected.verdict == "bound" else refusal_action(pod, pool, "")
    return Case(SUITE, name, pool.path, expected, action, pool=pool.name, request=name, batch=NODES_BATCH)
