"""The API server's defaults of an object, and those of the webhooks of JobSet and LeaderWorkerSet.

Kueue's webhooks also change new objects, for example spec.suspend; these changes depend on queues of the cluster.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/v1/defaults.go, zz_generated.defaults.go, conversion.go,
pkg/apis/batch/v1/defaults.go, pkg/apis/apps/v1/defaults.go, pkg/registry/batch/job/strategy.go;
kubernetes-sigs/jobset v0.12.0 pkg/webhooks/jobset_webhook.go;
kubernetes-sigs/lws v0.9.0 pkg/webhooks/leaderworkerset_webhook.go
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from gpuc.admission.documents import api_group, pod_part
from gpuc.admission.pod_defaults import containers, set_default_requests
from gpuc.admission.schema_defaults import with_schema_defaults
from gpuc.admission.validation.field import INT32_MAX
from gpuc.admission.validation.structure import is_builtin, table_of, without_nulls
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import dig, items
from gpuc.objects.pods import JOB_NAME

_SUFFIX, _PREFIX_MAX = "xxxxx", 58
"""The suffix in place of the five random characters that follow generateName, and the maximum length before it."""
Fields = dict[str, Any]
CONTROLLER_IDS = ("controller-uid", "batch.kubernetes.io/controller-uid")
NEW_UID = "00000000-0000-0000-0000-000000000000"
_IMAGE = re.compile(
    r"(?:(?:localhost|[-A-Za-z0-9]*[A-Z.][-A-Za-z0-9.]*|[-A-Za-z0-9.]+(?=:))(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+|/)[a-z0-9]+)*(?::(?P<tag>\w[\w.-]{0,127}))?(?P<digest>@[a-z0-9+._-]+:[0-9a-f]{32,})?"
)
"""An image: registry, path, tag and digest. The first part of the name is a registry if it contains ., : or A to Z."""
_ACTION: Fields = {"httpGet?": {"path": "/", "scheme": "HTTP"}, "grpc?": {"service": ""}}
_PROBE: Fields = {**_ACTION, "timeoutSeconds0": 1, "periodSeconds0": 10, "successThreshold0": 1, "failureThreshold0": 3}
_FIELD: Fields = {"fieldRef?": {"apiVersion": "v1"}}
_MODE: Fields = {"defaultMode": 0o644}
_CONTAINER: Fields = {
    "resources": {}, "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    "ports[]": {"protocol": "TCP"}, "env[]": {"valueFrom?": _FIELD}, "livenessProbe?": _PROBE,
    "readinessProbe?": _PROBE, "startupProbe?": _PROBE, "lifecycle?": {"postStart?": _ACTION, "preStop?": _ACTION},
}  # fmt: skip
_CLAIM: Fields = {"volumeMode*": "Filesystem"}
_VOLUME: Fields = {
    "secret?": _MODE, "configMap?": _MODE, "downwardAPI?": {**_MODE, "items[]": _FIELD}, "hostPath?": {"type": ""},
    "projected?": {**_MODE, "sources[]": {
        "serviceAccountToken?": {"expirationSeconds": 3600}, "downwardAPI?": {"items[]": _FIELD},
    }},
    "ephemeral?": {"volumeClaimTemplate?": {"metadata": {}, "spec?": {"volumeMode": "Filesystem"}}},
}  # fmt: skip
_POD: Fields = {
    "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
    "securityContext": {}, "terminationGracePeriodSeconds": 30, "volumes[]": _VOLUME, "containers[]": _CONTAINER,
    "initContainers[]": _CONTAINER,
}  # fmt: skip
_JOB: Fields = {
    "podFailurePolicy?": {"rules[]": {"onPodConditions[]": {"status": "True"}}},
    "template": {"metadata": {}, "spec": {}},
}  # fmt: skip
_ROLLING = "RollingUpdate"
_DEFAULT_UPDATES = (None, "", _ROLLING)
_WORKLOAD: Fields = {"template": {"metadata": {}, "spec": {}}}
_KINDS: dict[str, Fields] = {
    "batch/Job": {**_JOB, "parallelism*": 1, "completionMode*": "NonIndexed", "suspend*": False},
    "batch/CronJob": {
        "concurrencyPolicy": "Allow", "suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1,
        "jobTemplate": {"metadata": {}, "spec": _JOB},  # SetDefaults_Job applies to Jobs only
    },
    "apps/Deployment": {
        **_WORKLOAD, "replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
        "strategy": {"type": "RollingUpdate"},
    },
    "apps/StatefulSet": {
        **_WORKLOAD, "replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady",
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
        "volumeClaimTemplates[]": {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "status*": {"phase": "Pending"}, "spec?": _CLAIM,
        },
    },
    "apps/ReplicaSet": {**_WORKLOAD, "replicas": 1},
    "apps/DaemonSet": {**_WORKLOAD, "revisionHistoryLimit": 10, "updateStrategy": {"type": "RollingUpdate"}},
    "jobset.x-k8s.io/JobSet": {
        "successPolicy": {"operator": "All"}, "startupPolicy*": {"startupPolicyOrder": "AnyOrder"},
        "replicatedJobs[]": {"template": {"spec": {
            "completionMode": "Indexed", "template": {"spec": {"restartPolicy": "OnFailure"}},
        }}},
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "volumeClaimPolicies[]": {"retentionPolicy*": {"whenDeleted": "Delete"}},
    },
    "leaderworkerset.x-k8s.io/LeaderWorkerSet": {
        "leaderWorkerTemplate": {"restartPolicy": "RecreateGroupOnPodRestart"},
        "rolloutStrategy": {"type": "RollingUpdate"},
        "networkConfig": {"subdomainPolicy": "Shared"},
    },
}  # fmt: skip
"""The defaults of the specs, by kind. Fields of a map are set in the map, which is added if it is missing.

"a[]" are the defaults of the items of a list; "a?" is a map that is not added. An empty text is missing too, as in Go,
but not for "a*", which is a pointer in Go, and whose default is one value. For "a0", the number 0 is missing too.
"""


def with_defaults(document: Body) -> Body:
    """Returns a copy of an object with the defaults that the API server sets when the object is created.

    A new Job also gets the labels and the selector that the API server generates. An object with generateName gets a
    name that ends with "xxxxx".
    """
    complete: Body = without_nulls(document)
    set_defaults(complete)
    return complete


def set_defaults(complete: Body) -> None:
    """Sets the defaults in an object without nulls."""
    metadata = complete.get("metadata")
    prefix = dig(metadata, "generateName")
    if isinstance(metadata, dict) and not metadata.get("name") and isinstance(prefix, str) and prefix:
        metadata["name"] = prefix[:_PREFIX_MAX] + _SUFFIX
    known = table_of(complete)
    if known is not None and not is_builtin(complete):
        body = {name: complete[name] for name in complete if name not in ("apiVersion", "kind", "metadata", "status")}
        complete.update(with_schema_defaults(body, known.schema, known.schema.get("$defs")))
    kind = f"{api_group(complete)}/{complete.get('kind')}"
    if (kind == "/Pod" or kind in _KINDS) and isinstance(spec := complete.setdefault("spec", {}), dict):
        if kind in _CONDITIONAL:
            _CONDITIONAL[kind](complete, spec)
        fill(spec, _KINDS.get(kind, {}))
    part = pod_part(complete)
    if part is not None and isinstance(part.spec, dict):
        _pod_spec(part.spec)


def fill(fields: Any, defaults: Fields) -> None:
    """Sets the missing fields of a map. `_KINDS` explains the names of the defaults."""
    for key, default in defaults.items() if isinstance(fields, dict) else ():
        name, mark = key.rstrip("[]?*0"), key[len(key.rstrip("[]?*0")) :]
        value = fields.get(name)
        if mark == "[]":
            for _, item in items(value):
                fill(item, default)
        elif isinstance(default, dict) and mark != "*":
            if name not in fields and mark != "?":
                fields[name] = {}
            fill(fields.get(name), default)
        elif value is None or (mark == "0" and not value) or (value == "" and isinstance(default, str) and mark != "*"):
            fields[name] = deepcopy(default)


def child(fields: Fields, name: str) -> Fields:
    """Returns a map in a map, after creating a missing one. A value of another type is not changed."""
    value = fields.setdefault(name, {})
    return value if isinstance(value, dict) else {}


def _pod_spec(spec: Fields) -> None:
    """Sets the defaults that pods and pod templates have."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        fill(spec, {"serviceAccountName": account, "serviceAccount": account})
    for container in containers(spec):
        image = container.get("image")
        fill(container, {"imagePullPolicy": pull_policy(image if isinstance(image, str) else "")})
    for volume in (volume for _, volume in items(spec.get("volumes")) if isinstance(volume, dict)):
        if not any(value is not None for name, value in volume.items() if name != "name"):
            volume["emptyDir"] = {}
        fill(volume.get("image"), {"pullPolicy": pull_policy(str(dig(volume, "image", "reference") or ""))})
    fill(spec, _POD)


def _pod(_: Body, spec: Fields) -> None:
    """Sets the defaults that only pods have, not pod templates."""
    for container in containers(spec) if spec.get("hostNetwork") is True else ():
        for port in (port for _, port in items(container.get("ports")) if isinstance(port, dict)):
            if not port.get("hostPort") and "containerPort" in port:
                port["hostPort"] = port["containerPort"]
    fill(spec, {"enableServiceLinks": True})
    set_default_requests(spec)


def _job(document: Body, spec: Fields) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    has_policy = spec.get("podFailurePolicy") is not None
    retries = 6 if spec.get("backoffLimitPerIndex") is None else INT32_MAX
    replacement = "Failed" if has_policy else "TerminatingOrFailed"
    fill(spec, {"backoffLimit*": retries, "podReplacementPolicy*": replacement, "manualSelector": False})
    metadata, own = child(document, "metadata"), child(child(child(spec, "template"), "metadata"), "labels")
    if own and not metadata.get("labels"):
        metadata["labels"] = own  # the API server shares the map, and adds the generated labels to both
    if spec["manualSelector"] is True:
        return
    fill(own, {**dict.fromkeys(JOB_NAME, metadata.get("name") or ""), **dict.fromkeys(CONTROLLER_IDS, NEW_UID)})
    fill(child(child(spec, "selector"), "matchLabels"), {CONTROLLER_IDS[1]: NEW_UID})
    metadata["labels"] = deepcopy(metadata.get("labels") or {})
    if not metadata["labels"]:
        del metadata["labels"]


def _deployment(_: Body, spec: Fields) -> None:
    strategy = child(spec, "strategy")
    if strategy.get("type") in _DEFAULT_UPDATES:
        fill(strategy, {"rollingUpdate": {"maxUnavailable*": "25%", "maxSurge*": "25%"}})


def _stateful_set(_: Body, spec: Fields) -> None:
    strategy = child(spec, "updateStrategy")
    if not strategy.get("type"):
        fill(strategy, {"type": _ROLLING, "rollingUpdate": {}})
    if strategy.get("type") == _ROLLING:
        fill(strategy, {"rollingUpdate?": {"partition": 0}})


def _daemon_set(document: Body, spec: Fields) -> None:
    fill(document, {"metadata": {"annotations": {"deprecated.daemonset.template.generation": "1"}}})
    strategy = child(spec, "updateStrategy")
    if strategy.get("type") in _DEFAULT_UPDATES:
        fill(strategy, {"rollingUpdate": {"maxUnavailable*": 1, "maxSurge*": 0}})


def _job_set(_: Body, spec: Fields) -> None:
    for index, rule in items(dig(spec, "failurePolicy", "rules")):
        fill(rule, {"name": f"failurePolicyRule{index}"})


def _leader_worker_set(_: Body, spec: Fields) -> None:
    template, rollout = child(spec, "leaderWorkerTemplate"), child(spec, "rolloutStrategy")
    if template.get("restartPolicy") == "Default":
        template["restartPolicy"] = "None"
    if rollout.get("type") in _DEFAULT_UPDATES:
        fill(rollout, {"rollingUpdateConfiguration*": {"maxUnavailable": 1, "maxSurge": 0, "partition": 0}})


_CONDITIONAL: dict[str, Callable[[Body, Fields], None]] = {
    "/Pod": _pod,
    "batch/Job": _job,
    "apps/Deployment": _deployment,
    "apps/StatefulSet": _stateful_set,
    "apps/DaemonSet": _daemon_set,
    "jobset.x-k8s.io/JobSet": _job_set,
    "leaderworkerset.x-k8s.io/LeaderWorkerSet": _leader_worker_set,
}
"""The defaults that depend on other fields, by kind."""


def pull_policy(image: str) -> str:
    """Returns the default of imagePullPolicy: Always for the tag latest, which is the default tag.

    Source: k8s.io/kubernetes v1.35.4 pkg/util/parsers/parsers.go; distribution/reference v0.6.0 regexp.go
    """
    match = _IMAGE.fullmatch(image)
    if match is None or match["tag"] not in (None, "latest"):
        return "IfNotPresent"
    return "IfNotPresent" if match["digest"] and not match["tag"] else "Always"
