"""Mutations that policies, Pod Security or admission plugins of the API server may refuse."""

from __future__ import annotations

from gpuc.model.names import COST_LABEL, EFA
from tests.conformance.workload_drafts import Draft, Mutation, for_all, where


def _without_security(draft: Draft, *fields: str) -> bool:
    """Removes fields from all security contexts; returns whether a field was removed."""
    owners = [draft.pod, *draft.pod["containers"], *draft.pod.get("initContainers", ())]
    removed = [owner["securityContext"].pop(field, None) for owner in owners if "securityContext" in owner
               for field in fields]  # fmt: skip
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


def _set_image(draft: Draft, image: str) -> None:
    draft.main["image"] = image


def _label(draft: Draft, value: str) -> None:
    draft.document["metadata"].setdefault("labels", {})[COST_LABEL] = value


def _owner(draft: Draft) -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "other", "uid": "0f4c9a52-2f3e-4f1c-9a52-7d3e1a2b3c4d"}
    draft.document["metadata"]["ownerReferences"] = [{**owner, "controller": True}]


SECURITY: dict[str, Mutation] = {
    "privileged container": for_all(lambda d: d.setting("main").update(privileged=True)),
    "hostNetwork": for_all(lambda d: d.pod.update(hostNetwork=True)),
    "hostPID": for_all(lambda d: d.pod.update(hostPID=True)),
    "hostIPC": for_all(lambda d: d.pod.update(hostIPC=True)),
    "hostPath volume": for_all(lambda d: d.add_volume("host", {"hostPath": {"path": "/var/log"}})),
    "hostPort": for_all(lambda d: d.main.update(ports=[{"containerPort": 9000, "hostPort": 9000}])),
    "capability SYS_ADMIN": for_all(lambda d: d.setting("main").update(capabilities={"add": ["SYS_ADMIN"]})),
    "capability IPC_LOCK": for_all(lambda d: d.setting("main").update(capabilities={"add": ["IPC_LOCK"]})),
    "capability NET_RAW": for_all(lambda d: d.setting("main").update(capabilities={"add": ["NET_RAW"]})),
    "no runAsNonRoot": lambda d: _without_security(d, "runAsNonRoot"),
    "no seccomp profile": lambda d: _without_security(d, "seccompProfile"),
    "no allowPrivilegeEscalation": lambda d: _without_security(d, "allowPrivilegeEscalation"),
    "capabilities not dropped": lambda d: _without_security(d, "capabilities"),
    "user 0": for_all(lambda d: d.setting("main").update(runAsUser=0)),
    "another user": for_all(lambda d: d.setting("pod").update(runAsUser=4321)),
    "seccomp Unconfined": for_all(lambda d: d.setting("pod").update(seccompProfile={"type": "Unconfined"})),
    "unmasked /proc": for_all(lambda d: d.setting("main").update(procMount="Unmasked")),
    "sysctl": for_all(lambda d: d.setting("pod").update(sysctls=[{"name": "kernel.msgmax", "value": "1"}])),
    "AppArmor unconfined": for_all(lambda d: d.setting("pod").update(appArmorProfile={"type": "Unconfined"})),
    "foreign registry": for_all(lambda d: _set_image(d, "docker.io/library/python:3.13")),
    "image of a similar registry": for_all(lambda d: _set_image(d, "registry.example.com.evil.io/train:1")),
    "init container of a foreign registry": for_all(
        lambda d: d.pod.setdefault("initContainers", []).append({**d.main, "name": "fetch", "image": "ubuntu"})
    ),
    "NVIDIA_VISIBLE_DEVICES all": for_all(lambda d: d.add_env(name="NVIDIA_VISIBLE_DEVICES", value="all")),
    "NVIDIA_VISIBLE_DEVICES none": for_all(lambda d: d.add_env(name="NVIDIA_VISIBLE_DEVICES", value="none")),
    "runtime class nvidia": for_all(lambda d: d.pod.update(runtimeClassName="nvidia")),
    "CDI annotation": for_all(lambda d: d.annotate("cdi.k8s.io/gpu", "nvidia.com/gpu=all")),
    "cost label of another tenant": for_all(lambda d: _label(d, "CC-99999")),
    "missing ServiceAccount": for_all(lambda d: d.pod.update(serviceAccountName="absent")),
    "missing PriorityClass": for_all(lambda d: d.pod.update(priorityClassName="absent")),
    "system-node-critical": for_all(lambda d: d.pod.update(priorityClassName="system-node-critical")),
    "toleration of another tenant": for_all(
        lambda d: d.pod.setdefault("tolerations", []).append(
            {"key": "gpuc.dev/tenant", "operator": "Equal", "value": "another", "effect": "NoSchedule"}
        )
    ),
    "toleration Exists without a key": for_all(
        lambda d: d.pod.setdefault("tolerations", []).append({"operator": "Exists"})
    ),
    "toleration not-ready": for_all(
        lambda d: d.pod.setdefault("tolerations", []).append(
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
        )
    ),
    "nodeName": for_all(lambda d: d.pod.update(nodeName="node-1")),
    "shared memory of an MPS client": _shm_of_mps_clients,
    "no NCCL profile": _without_nccl_profile,
    "forged owner": for_all(_owner),
    "long grace period": for_all(lambda d: d.pod.update(terminationGracePeriodSeconds=90000)),
    "resource claims": for_all(
        lambda d: d.pod.update(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}])
    ),
    "envFrom with a reserved prefix": for_all(
        lambda d: d.main.update(envFrom=[{"prefix": "NVIDIA_", "configMapRef": {"name": "settings"}}])
    ),
    "ephemeral containers": where(
        lambda d: d.kind == "Pod", lambda d: d.pod.update(ephemeralContainers=[{"name": "debug", "image": "busybox"}])
    ),
}
"""Mutations by name."""
