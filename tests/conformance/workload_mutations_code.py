"""Mutations that one change of fields cannot say: they depend on the workload, its pool or its tenant."""

from collections.abc import Callable
from typing import Any

from gpuc.kubernetes.amounts import CPU, texts
from gpuc.model.names import COST_LABEL, EFA, GPU, HUGEPAGES, POOL_LABEL
from tests.conformance.workload_drafts import Draft, Mutation, for_all, other_pools, where

LONG = "a" * 70
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def without_security(draft: Draft, field: str) -> bool:
    """Removes a field from all security contexts; returns whether a field was removed."""
    owners = [draft.pod, *draft.pod["containers"], *draft.pod.get("initContainers", ())]
    removed = [owner["securityContext"].pop(field, None) for owner in owners if "securityContext" in owner]
    return any(value is not None for value in removed)


def _shm_of_mps_clients(draft: Draft) -> bool:
    if draft.target.pool.mps_user is None:
        return False
    draft.add_volume("shm", {"emptyDir": {"medium": "Memory"}}, "/dev/shm")
    return True


def _without_nccl_profile(draft: Draft) -> bool:
    if EFA not in draft.main["resources"].get("limits", {}) or "envFrom" not in draft.main:
        return False
    del draft.main["envFrom"]
    return True


def _owner(draft: Draft) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "other", "uid": "0f4c9a52-2f3e-4f1c-9a52-7d3e1a2b3c4d"}
    draft.document["metadata"]["ownerReferences"] = [{**owner, "controller": True}]


def _named(draft: Draft, name: str) -> None:
    draft.document["metadata"]["name"] = name


def _two_equal_names(draft: Draft) -> None:
    draft.pod["containers"].append({"name": draft.main["name"], "image": draft.main["image"]})


def _two_equal_paths(draft: Draft) -> None:
    draft.add_volume("one", {"emptyDir": {}}, "/data")
    draft.add_volume("two", {"emptyDir": {}}, "/data")


def other_kind(draft: Draft, name: str) -> None:
    """Changes a Deployment into another kind with the same selector and template."""
    draft.document["kind"] = name
    kept = ("selector", "template") + (("replicas",) if name == "ReplicaSet" else ())
    draft.document["spec"] = {field: value for field, value in draft.spec.items() if field in kept}


def _without_image(draft: Draft) -> None:
    del draft.main["image"]


def _has_gpu(draft: Draft) -> bool:
    return bool(draft.devices)


def device(draft: Draft, change: str) -> bool:
    """Changes the GPU amounts of the main container."""
    if not draft.devices:
        return False
    name, resources = draft.devices[0], draft.main["resources"]
    limits, requests = resources["limits"], resources.setdefault("requests", {})
    match change:
        case "only requested":
            requests[name] = limits.pop(name)
        case "unequal":
            requests[name], limits[name] = limits[name], str(int(limits[name]) + 1)
        case "another name":
            for part in (limits, requests):
                if name in part:
                    part[f"{name}s"] = part.pop(name)
        case _:
            draft.resources(name, {"fraction": "500m", "none": "0"}[change])
    return True


def beyond_the_node(draft: Draft, resource: str) -> bool:
    """Requests a little more of a resource than a node of the pool has."""
    pool = draft.target.pool
    if not pool.node.get(resource):
        return False
    most = max(pool.allocatable(instance)[resource] for instance in pool.instances)
    draft.resources(resource, texts({resource: most + max(1, most // 50)})[resource])
    return True


def _too_many_devices(draft: Draft) -> bool:
    if not draft.devices:
        return False
    name, pool = draft.devices[0], draft.target.pool
    draft.resources(name, str(max(pool.advertised(instance)[name] for instance in pool.instances) + 1))
    return True


def set_pods(draft: Draft, pods: int) -> None:
    """Sets the number of pods that run at the same time."""
    if draft.job is not None:
        draft.job.update(parallelism=pods, completions=pods)
    elif draft.kind == "RayJob":
        draft.workers.update(replicas=pods, minReplicas=0, maxReplicas=pods)
    else:
        draft.spec["replicas"] = pods
        if draft.kind == "StatefulSet":
            draft.spec["podManagementPolicy"] = "Parallel"


def _select_pool(draft: Draft, name: str | None) -> bool:
    if name is None:
        return False
    draft.pod.setdefault("nodeSelector", {})[POOL_LABEL] = name
    return True


def _unselected(draft: Draft) -> bool:
    return draft.pod.get("nodeSelector", {}).pop(POOL_LABEL, None) is not None


def _more_hosts_than_nodes(draft: Draft) -> bool:
    """Requires a node of its own for each pod, with one pod more than the pool has nodes."""
    pool = draft.target.pool
    if draft.kind in ("Pod", "JobSet") or pool.is_static:
        return False
    draft.describe("labels", "example.com/spread", "hosts")
    term = {"labelSelector": {"matchLabels": {"example.com/spread": "hosts"}}, "topologyKey": HOST}
    draft.pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    set_pods(draft, pool.nodes_max + 1)
    return True


def _toleration_missing(draft: Draft) -> bool:
    return draft.pod.pop("tolerations", None) is not None


def _other_tenants_pool(draft: Draft) -> bool:
    return _select_pool(draft, next(other_pools(draft), None))


def _other_own_pool(draft: Draft) -> bool:
    names = [pool.name for pool in draft.target.tenant.pools if pool is not draft.target.pool]
    return _select_pool(draft, draft.random.choice(names) if names else None)


CHANGES: dict[str, Callable[[Draft, Any], object]] = {
    "without security": without_security,
    "device": device,
    "beyond the node": beyond_the_node,
    "other kind": other_kind,
    "pods": set_pods,
}
BY_CODE: dict[str, Mutation] = {
    "init container of a foreign registry": for_all(
        lambda d: d.pod.setdefault("initContainers", []).append({**d.main, "name": "fetch", "image": "ubuntu"})
    ),
    "cost label of another tenant": for_all(lambda d: d.describe("labels", COST_LABEL, "CC-99999", d.document)),
    "shared memory of an MPS client": _shm_of_mps_clients,
    "no NCCL profile": _without_nccl_profile,
    "forged owner": for_all(_owner),
    "no restartPolicy in a Job": where(lambda d: d.kind in ("Job", "CronJob"), lambda d: d.pod.pop("restartPolicy")),
    "no image": for_all(_without_image),
    "image with a space": for_all(lambda d: d.main.update(image=" " + d.main["image"])),
    "two equal container names": for_all(_two_equal_names),
    "long label value": for_all(lambda d: d.describe("labels", "example.com/run", LONG)),
    "name of 70 characters": for_all(lambda d: _named(d, f"{d.document['metadata']['name']}-{LONG}"[:70])),
    "name of 60 characters": for_all(lambda d: _named(d, f"{d.document['metadata']['name']}-{LONG}"[:60])),
    "name of 300 characters": for_all(lambda d: _named(d, f"{d.document['metadata']['name']}-{LONG * 5}"[:300])),
    "name with capitals": for_all(lambda d: _named(d, d.document["metadata"]["name"].title())),
    "name with a dot": for_all(lambda d: _named(d, f"{d.document['metadata']['name']}.v1")),
    "mount without a volume": for_all(
        lambda d: d.main.setdefault("volumeMounts", []).append({"name": "absent", "mountPath": "/absent"})
    ),
    "two mounts at one path": for_all(_two_equal_paths),
    "no selector": where(lambda d: d.kind in ("Deployment", "StatefulSet"), lambda d: d.spec.pop("selector")),
    "misspelled kind": for_all(lambda d: d.document.update(kind=d.document["kind"].lower())),
    "namespace of another tenant": for_all(
        lambda d: d.document["metadata"].update(
            namespace=next(
                name
                for name in d.cluster.tenant_namespaces
                if name not in {own.name for own in d.target.tenant.namespaces}
            )
        )
    ),
    "request above the limit": for_all(
        lambda d: d.main["resources"].update(
            requests={**d.main["resources"].get("requests", {}), CPU: "4"},
            limits={**d.main["resources"].get("limits", {}), CPU: "1"},
        )
    ),
    "GPU without cpu and memory": where(
        _has_gpu,
        lambda d: d.main.update(resources={"limits": {d.devices[0]: d.main["resources"]["limits"][d.devices[0]]}}),
    ),
    "GPU of a pool without GPUs": where(lambda d: not d.target.pool.is_gpu, lambda d: d.resources(GPU, "1")),
    "more GPUs than a node": _too_many_devices,
    "EFA beyond the node": where(lambda d: d.target.pool.has_efa, lambda d: d.resources(EFA, "64")),
    "EFA in a pool without EFA": where(lambda d: not d.target.pool.has_efa, lambda d: d.resources(EFA, "1")),
    "huge pages in a pool without huge pages": where(
        lambda d: not d.target.pool.hugepages_bytes, lambda d: d.resources(HUGEPAGES, "512Mi")
    ),
    "pool of another tenant": _other_tenants_pool,
    "another pool of the tenant": _other_own_pool,
    "no pool selector": _unselected,
    "no tolerations": _toleration_missing,
    "zone of the region": for_all(
        lambda d: d.pod.setdefault("nodeSelector", {}).update({ZONE: d.random.choice(d.cluster.pools[0].zones)})
    ),
    "NodePool of Karpenter": for_all(
        lambda d: d.pod.setdefault("nodeSelector", {}).update({"karpenter.sh/nodepool": d.target.pool.name})
    ),
    "host anti-affinity beyond the nodes": _more_hosts_than_nodes,
}
"""Mutations by name."""
