"""Mutations of requests, of limits, and of the nodes that pods accept."""

from __future__ import annotations

from typing import Any

from gpuc.kubernetes.amounts import CPU, EPHEMERAL_STORAGE, MEMORY, texts
from gpuc.model.names import EFA, GPU, HUGEPAGES, POOL_LABEL
from tests.conformance.workload_drafts import Draft, Mutation, for_all, other_pools, where

ZONE, TYPE, HOST = "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type", "kubernetes.io/hostname"


def _has_gpu(draft: Draft) -> bool:
    return bool(draft.devices)


def _device(change: str) -> Mutation:
    """Returns a mutation of the GPU amounts of the main container."""

    def mutate(draft: Draft) -> bool:
        if not draft.devices:
            return False
        name, resources = draft.devices[0], draft.main["resources"]
        limits, requests = resources["limits"], resources.setdefault("requests", {})
        amount = limits[name]
        if change == "only requested":
            requests[name] = limits.pop(name)
        elif change == "unequal":
            requests[name], limits[name] = amount, str(int(amount) + 1)
        elif change == "fraction":
            draft.resources(name, "500m")
        elif change == "none":
            draft.resources(name, "0")
        elif change == "another name":
            for part in (limits, requests):
                if name in part:
                    part[f"{name}s"] = part.pop(name)
        return True

    return mutate


def _beyond_the_node(resource: str) -> Mutation:
    """Returns a mutation that requests a little more of a resource than a node of the pool has."""

    def change(draft: Draft) -> None:
        pool = draft.target.pool
        most = max(pool.allocatable(instance)[resource] for instance in pool.instances)
        draft.resources(resource, texts({resource: most + max(1, most // 50)})[resource])

    return where(lambda draft: draft.target.pool.node.get(resource), change)


def _too_many_devices(draft: Draft) -> bool:
    if not draft.devices:
        return False
    name, pool = draft.devices[0], draft.target.pool
    draft.resources(name, str(max(pool.advertised(instance)[name] for instance in pool.instances) + 1))
    return True


def _set_pods(draft: Draft, pods: int) -> None:
    """Sets the number of pods that run at the same time."""
    if draft.job is not None:
        draft.job.update(parallelism=pods, completions=pods)
    else:
        draft.spec["replicas"] = pods
        if draft.kind == "StatefulSet":
            draft.spec["podManagementPolicy"] = "Parallel"


def _select(key: str, value: str) -> Mutation:
    return for_all(lambda draft: draft.pod.setdefault("nodeSelector", {}).update({key: value}))


def _select_pool(draft: Draft, name: str | None) -> bool:
    if name is None:
        return False
    draft.pod.setdefault("nodeSelector", {})[POOL_LABEL] = name
    return True


def _unselected(draft: Draft) -> bool:
    return draft.pod.get("nodeSelector", {}).pop(POOL_LABEL, None) is not None


def _require(key: str, operator: str, *values: str) -> Mutation:
    """Returns a mutation with a required node affinity."""

    def change(draft: Draft) -> None:
        expression: dict[str, Any] = {"key": key, "operator": operator} | ({"values": list(values)} if values else {})
        terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        draft.pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}

    return for_all(change)


def _more_hosts_than_nodes(draft: Draft) -> bool:
    """Requires a node of its own for each pod, with one pod more than the pool has nodes."""
    pool = draft.target.pool
    if draft.kind in ("Pod", "JobSet") or pool.is_static:
        return False
    draft.template.setdefault("metadata", {}).setdefault("labels", {})["example.com/spread"] = "hosts"
    term = {"labelSelector": {"matchLabels": {"example.com/spread": "hosts"}}, "topologyKey": HOST}
    draft.pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    _set_pods(draft, pool.nodes_max + 1)
    return True


def _toleration_missing(draft: Draft) -> bool:
    return draft.pod.pop("tolerations", None) is not None


def _other_tenants_pool(draft: Draft) -> bool:
    return _select_pool(draft, next(other_pools(draft), None))


def _other_own_pool(draft: Draft) -> bool:
    names = [pool.name for pool in draft.target.tenant.pools if pool is not draft.target.pool]
    return _select_pool(draft, draft.random.choice(names) if names else None)


RESOURCES: dict[str, Mutation] = {
    "memory 8gi": for_all(lambda d: d.resources(MEMORY, "8gi")),
    "memory 8GB": for_all(lambda d: d.resources(MEMORY, "8GB")),
    "negative cpu": for_all(lambda d: d.resources(CPU, "-1")),
    "cpu as text": for_all(lambda d: d.resources(CPU, "two")),
    "cpu of a thousandth of a millicore": for_all(lambda d: d.resources(CPU, "0.0001")),
    "memory in millibytes": for_all(lambda d: d.resources(MEMORY, "400000000m")),
    "request above the limit": for_all(
        lambda d: d.main["resources"].update(
            requests={**d.main["resources"].get("requests", {}), CPU: "4"},
            limits={**d.main["resources"].get("limits", {}), CPU: "1"},
        )
    ),
    "GPU request without a limit": _device("only requested"),
    "GPU request below the limit": _device("unequal"),
    "half a GPU": _device("fraction"),
    "no GPU in a GPU pool": _device("none"),
    "misspelled GPU resource": _device("another name"),
    "GPU without cpu and memory": where(
        _has_gpu,
        lambda d: d.main.update(
            resources={"limits": {d.devices[0]: d.main["resources"]["limits"][d.devices[0]]}}
        ),
    ),
    "unknown resource": for_all(lambda d: d.resources("example.com/fpga", "1")),
    "resource without a domain": for_all(lambda d: d.resources("gpu", "1")),
    "AMD GPU": for_all(lambda d: d.resources("amd.com/gpu", "1")),
    "GPU of a pool without GPUs": where(lambda d: not d.target.pool.is_gpu, lambda d: d.resources(GPU, "1")),
    "more GPUs than a node": _too_many_devices,
    "cpu beyond the node": _beyond_the_node(CPU),
    "memory beyond the node": _beyond_the_node(MEMORY),
    "ephemeral storage beyond the node": _beyond_the_node(EPHEMERAL_STORAGE),
    "EFA beyond the node": where(lambda d: d.target.pool.has_efa, lambda d: d.resources(EFA, "64")),
    "EFA in a pool without EFA": where(lambda d: not d.target.pool.has_efa, lambda d: d.resources(EFA, "1")),
    "huge pages in a pool without huge pages": where(
        lambda d: not d.target.pool.hugepages_bytes, lambda d: d.resources(HUGEPAGES, "512Mi")
    ),
    "huge pages of 1 GiB": for_all(lambda d: d.resources("hugepages-1Gi", "1Gi")),
    "more pods than the quota": where(lambda d: d.kind != "Pod", lambda d: _set_pods(d, 130)),
    "twenty pods": where(lambda d: d.kind != "Pod", lambda d: _set_pods(d, 20)),
    "pool of another tenant": _other_tenants_pool,
    "another pool of the tenant": _other_own_pool,
    "pool that does not exist": _select(POOL_LABEL, "h900"),
    "no pool selector": _unselected,
    "no tolerations": _toleration_missing,
    "node label that no node has": _select("example.com/disk", "fast"),
    "zone that no pool has": _select(ZONE, "us-east-1f"),
    "zone of the region": for_all(lambda d: _select(ZONE, d.random.choice(d.cluster.pools[0].zones))(d)),
    "instance type of no pool": _select(TYPE, "c5.large"),
    "arm64": _select("kubernetes.io/arch", "arm64"),
    "windows": _select("kubernetes.io/os", "windows"),
    "capacity type spot": _select("karpenter.sh/capacity-type", "spot"),
    "capacity type on-demand": _select("karpenter.sh/capacity-type", "on-demand"),
    "GPU model of the node": _select("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"),
    "NodePool of Karpenter": for_all(
        lambda d: d.pod.setdefault("nodeSelector", {}).update({"karpenter.sh/nodepool": d.target.pool.name})
    ),
    "required affinity to another zone": _require(ZONE, "In", "eu-north-1a"),
    "required affinity to no zone of the region": _require(ZONE, "NotIn", "us-east-1a", "us-east-1b", "us-west-2a",
                                                          "us-west-2b", "us-west-2c", "eu-west-1a", "eu-west-1b"),
    "required affinity to an existing label": _require("example.com/absent", "Exists"),
    "required affinity to a missing label": _require("example.com/absent", "DoesNotExist"),
    "required affinity to a large instance": _require("karpenter.k8s.aws/instance-cpu", "Gt", "1000"),
    "affinity operator in lower case": _require(ZONE, "in", "us-east-1a"),
    "affinity without values": _require(ZONE, "In"),
    "host anti-affinity beyond the nodes": _more_hosts_than_nodes,
    "affinity to a pod that does not exist": for_all(
        lambda d: d.pod.update(
            affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "absent"}}, "topologyKey": HOST}]}}
        )
    ),
    "spread over hosts with DoNotSchedule": for_all(
        lambda d: d.pod.update(
            topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule",
                                        "labelSelector": {"matchLabels": {"app": "any"}}}]
        )
    ),
    "spread over an unknown key": for_all(
        lambda d: d.pod.update(
            topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "example.com/rack",
                                        "whenUnsatisfiable": "DoNotSchedule",
                                        "labelSelector": {"matchLabels": {"app": "any"}}}]
        )
    ),
    "maxSkew 0": for_all(
        lambda d: d.pod.update(
            topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway"}]
        )
    ),
}  # fmt: skip
"""Mutations by name."""
