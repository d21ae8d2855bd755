"""The API server's defaults of an object, and those of the webhooks of JobSet and LeaderWorkerSet.

Kueue's webhooks also change new objects, for example spec.suspend; these changes depend on queues of the cluster.

Source: k8s.io/kubernetes v1.35.4 pkg/apis/core/v1/defaults.go, zz_generated.defaults.go, conversion.go,
pkg/apis/batch/v1/defaults.go, pkg/apis/apps/v1/defaults.go, pkg/registry/batch/job/strategy.go;
kubernetes-sigs/jobset v0.12.0 pkg/webhooks/jobset_webhook.go;
kubernetes-sigs/lws v0.9.0 pkg/webhooks/leaderworkerset_webhook.go
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

from gpuc.admission.documents import api_group
from gpuc.admission.pod_defaults import containers, set_default_requests
from gpuc.admission.schema_defaults import with_schema_defaults
from gpuc.admission.validation.field import INT32_MAX
from gpuc.admission.validation.jobs import CONTROLLER_IDS, NEW_UID
from gpuc.admission.validation.pods import PROBES
from gpuc.admission.validation.structure import is_builtin, table_of, without_nulls
from gpuc.manifest.manifest import Body
from gpuc.objects.object_set import dig, items
from gpuc.objects.pods import JOB_NAME

_SUFFIX, _PREFIX_MAX = "xxxxx", 58
"""The suffix in place of the five random characters that follow generateName, and the maximum length before it."""
Fields = dict[str, Any]
_FILE_MODE = 0o644
_PROBE = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_POD = {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"}
_IMAGE = re.compile(
    r"(?:(?:localhost|[-A-Za-z0-9]*[A-Z.][-A-Za-z0-9.]*|[-A-Za-z0-9.]+(?=:))(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+|/)[a-z0-9]+)*(?::(?P<tag>\w[\w.-]{0,127}))?(?P<digest>@[a-z0-9+._-]+:[0-9a-f]{32,})?"
)
"""An image: registry, path, tag and digest. The first part of the name is a registry if it contains ., : or A to Z."""
_MODE_SOURCES = ("secret", "configMap", "downwardAPI", "projected")


def with_defaults(document: Body) -> Body:
    """Returns a copy of an object with the defaults that the API server sets when the object is created.

    A new Job also gets the labels and the selector that the API server generates. An object with generateName gets a
    name that ends with "xxxxx".
    """
    complete: Body = without_nulls(document)
    metadata = complete.get("metadata")
    prefix = dig(metadata, "generateName")
    if isinstance(metadata, dict) and not metadata.get("name") and isinstance(prefix, str) and prefix:
        metadata["name"] = prefix[:_PREFIX_MAX] + _SUFFIX
    known = table_of(complete)
    if known is not None and not is_builtin(complete):
        body = {name: complete[name] for name in complete if name not in ("apiVersion", "kind", "metadata", "status")}
        complete.update(with_schema_defaults(body, known.schema, known.schema.get("$defs")))
    set_defaults = _DEFAULTS.get((api_group(complete), str(complete.get("kind"))))
    if set_defaults and isinstance(complete.setdefault("spec", {}), dict):
        set_defaults(complete, complete["spec"])
    return complete


def _pod(_: Body, spec: Fields) -> None:
    default_pod_spec(spec)
    default_pod(spec)


def _job(document: Body, spec: Fields) -> None:
    _job_spec(spec)
    fill(spec, {"manualSelector": False})
    metadata, template = child(document, "metadata"), child(spec, "template")
    own = child(child(template, "metadata"), "labels")
    if own and not metadata.get("labels"):
        metadata["labels"] = own  # the API server shares the map, and adds the generated labels to both
    if spec["manualSelector"] is True:
        return
    fill(own, {**dict.fromkeys(JOB_NAME, metadata.get("name") or ""), **dict.fromkeys(CONTROLLER_IDS, NEW_UID)})
    fill(child(child(spec, "selector"), "matchLabels"), {CONTROLLER_IDS[1]: NEW_UID})
    metadata["labels"] = deepcopy(metadata.get("labels") or {})
    if not metadata["labels"]:
        del metadata["labels"]


def _job_spec(spec: Fields) -> None:
    """Sets the defaults of a Job's spec, also in a CronJob."""
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    has_policy = spec.get("podFailurePolicy") is not None
    fill_pointers(
        spec,
        {
            "parallelism": 1,
            "backoffLimit": 6 if spec.get("backoffLimitPerIndex") is None else INT32_MAX,
            "completionMode": "NonIndexed",
            "suspend": False,
            "podReplacementPolicy": "Failed" if has_policy else "TerminatingOrFailed",
        },
    )
    _job_template(spec)


def _job_template(spec: Fields) -> None:
    """Sets the defaults of the pod failure policy and the pod template of a Job's spec."""
    for rule in maps(dig(spec, "podFailurePolicy", "rules")):
        for condition in maps(rule.get("onPodConditions")):
            fill(condition, {"status": "True"})
    default_template(child(spec, "template"))


def _cron_job(_: Body, spec: Fields) -> None:
    fill(
        spec,
        {"concurrencyPolicy": "Allow", "suspend": False, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1},
    )
    # SetDefaults_Job applies to Jobs; for a CronJob only the pod template has defaults.
    fill(child(spec, "jobTemplate"), {"metadata": {}})
    _job_template(child(child(spec, "jobTemplate"), "spec"))


def _deployment(_: Body, spec: Fields) -> None:
    fill(spec, {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600})
    strategy = child(spec, "strategy")
    fill(strategy, {"type": "RollingUpdate"})
    if strategy.get("type") == "RollingUpdate":
        fill_pointers(child(strategy, "rollingUpdate"), {"maxUnavailable": "25%", "maxSurge": "25%"})
    default_template(child(spec, "template"))


def _stateful_set(_: Body, spec: Fields) -> None:
    fill(spec, {"replicas": 1, "revisionHistoryLimit": 10, "podManagementPolicy": "OrderedReady"})
    strategy = child(spec, "updateStrategy")
    if not strategy.get("type"):
        fill(strategy, {"type": "RollingUpdate", "rollingUpdate": {}})
    if strategy.get("type") == "RollingUpdate":
        fill(strategy.get("rollingUpdate"), {"partition": 0})
    fill(child(spec, "persistentVolumeClaimRetentionPolicy"), {"whenDeleted": "Retain", "whenScaled": "Retain"})
    for claim in maps(spec.get("volumeClaimTemplates")):
        fill(claim, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}})
        fill_pointers(claim.get("spec"), {"volumeMode": "Filesystem"})
    default_template(child(spec, "template"))


def _replica_set(_: Body, spec: Fields) -> None:
    fill(spec, {"replicas": 1})
    default_template(child(spec, "template"))


def _daemon_set(document: Body, spec: Fields) -> None:
    fill(child(child(document, "metadata"), "annotations"), {"deprecated.daemonset.template.generation": "1"})
    fill(spec, {"revisionHistoryLimit": 10})
    strategy = child(spec, "updateStrategy")
    fill(strategy, {"type": "RollingUpdate"})
    if strategy.get("type") == "RollingUpdate":
        fill_pointers(child(strategy, "rollingUpdate"), {"maxUnavailable": 1, "maxSurge": 0})
    default_template(child(spec, "template"))


def _job_set(_: Body, spec: Fields) -> None:
    fill(child(spec, "successPolicy") if "successPolicy" not in spec else spec["successPolicy"], {"operator": "All"})
    fill(spec, {"startupPolicy": {"startupPolicyOrder": "AnyOrder"}})
    for job in maps(spec.get("replicatedJobs")):
        job_spec = child(child(job, "template"), "spec")
        fill(job_spec, {"completionMode": "Indexed"})
        fill(child(child(job_spec, "template"), "spec"), {"restartPolicy": "OnFailure"})
    fill(child(spec, "network"), {"enableDNSHostnames": True, "publishNotReadyAddresses": True})
    for index, rule in items(dig(spec, "failurePolicy", "rules")):
        fill(rule, {"name": f"failurePolicyRule{index}"})
    for policy in maps(spec.get("volumeClaimPolicies")):
        fill(policy, {"retentionPolicy": {"whenDeleted": "Delete"}})


def _leader_worker_set(_: Body, spec: Fields) -> None:
    template = child(spec, "leaderWorkerTemplate")
    fill(template, {"restartPolicy": "RecreateGroupOnPodRestart"})
    if template.get("restartPolicy") == "Default":
        template["restartPolicy"] = "None"
    rollout = child(spec, "rolloutStrategy")
    fill(rollout, {"type": "RollingUpdate"})
    if rollout.get("type") == "RollingUpdate":
        fill(rollout, {"rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 0, "partition": 0}})
    fill(child(spec, "networkConfig"), {"subdomainPolicy": "Shared"})


_DEFAULTS: dict[tuple[str, str], Callable[[Body, Fields], None]] = {
    ("", "Pod"): _pod,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("jobset.x-k8s.io", "JobSet"): _job_set,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
}


def fill(fields: Any, defaults: Fields) -> None:
    """Sets the missing fields of a map. An empty string is missing too, as in Go; 0 and false are not."""
    if isinstance(fields, dict):
        for name, value in defaults.items():
            current = fields.get(name)
            if current is None or (current == "" and isinstance(value, str)):
                fields[name] = value


def fill_pointers(fields: Any, defaults: Fields) -> None:
    """Sets the missing fields of a map, if an empty string is a value and not missing: for pointers in Go."""
    if isinstance(fields, dict):
        for name, value in defaults.items():
            if fields.get(name) is None:
                fields[name] = value


def maps(value: Any) -> Iterator[Fields]:
    """Yields the items of a list that are maps."""
    return (item for _, item in items(value) if isinstance(item, dict))


def child(fields: Fields, name: str) -> Fields:
    """Returns a map in a map, after creating a missing one. A value of another type is not changed."""
    value = fields.setdefault(name, {})
    return value if isinstance(value, dict) else {}


def default_template(template: Any) -> None:
    """Sets the defaults of a pod template."""
    if isinstance(template, dict):
        fill(template, {"metadata": {}})
        default_pod_spec(child(template, "spec"))


def default_pod_spec(spec: Fields) -> None:
    """Sets the defaults that pods and pod templates have."""
    fill(spec, _POD)
    fill(spec, {"securityContext": {}, "terminationGracePeriodSeconds": 30})
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        fill(spec, {"serviceAccountName": account, "serviceAccount": account})
    for volume in maps(spec.get("volumes")):
        _volume(volume)
    for container in containers(spec):
        _container(container)


def default_pod(spec: Fields) -> None:
    """Sets the defaults that only pods have, not pod templates."""
    for container in containers(spec) if spec.get("hostNetwork") is True else ():
        for port in maps(container.get("ports")):
            if not port.get("hostPort") and "containerPort" in port:
                port["hostPort"] = port["containerPort"]
    fill(spec, {"enableServiceLinks": True})
    set_default_requests(spec)


def _container(container: Fields) -> None:
    fill(container, {"resources": {}})
    fill(container, {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"})
    image = container.get("image")
    fill(container, {"imagePullPolicy": pull_policy(image if isinstance(image, str) else "")})
    for port in maps(container.get("ports")):
        fill(port, {"protocol": "TCP"})
    for variable in maps(container.get("env")):
        fill(dig(variable, "valueFrom", "fieldRef"), {"apiVersion": "v1"})
    for name in PROBES:
        probe = container.get(name)
        if isinstance(probe, dict):
            for field, value in _PROBE.items():
                if not probe.get(field):
                    probe[field] = value
            _action(probe)
    for name in ("postStart", "preStop"):
        _action(dig(container, "lifecycle", name))


def _action(handler: Any) -> None:
    fill(dig(handler, "httpGet"), {"path": "/", "scheme": "HTTP"})
    fill(dig(handler, "grpc"), {"service": ""})


def pull_policy(image: str) -> str:
    """Returns the default of imagePullPolicy: Always for the tag latest, which is the default tag.

    Source: k8s.io/kubernetes v1.35.4 pkg/util/parsers/parsers.go; distribution/reference v0.6.0 regexp.go
    """
    match = _IMAGE.fullmatch(image)
    if match is None or match["tag"] not in (None, "latest"):
        return "IfNotPresent"
    return "IfNotPresent" if match["digest"] and not match["tag"] else "Always"


def _volume(volume: Fields) -> None:
    if not any(value is not None for name, value in volume.items() if name != "name"):
        volume["emptyDir"] = {}
    for source in _MODE_SOURCES:
        fill(volume.get(source), {"defaultMode": _FILE_MODE})
    fill(volume.get("hostPath"), {"type": ""})
    for item in maps(dig(volume, "downwardAPI", "items")):
        fill(item.get("fieldRef"), {"apiVersion": "v1"})
    for projection in maps(dig(volume, "projected", "sources")):
        fill(projection.get("serviceAccountToken"), {"expirationSeconds": 3600})
        for item in maps(dig(projection, "downwardAPI", "items")):
            fill(item.get("fieldRef"), {"apiVersion": "v1"})
    fill(dig(volume, "ephemeral", "volumeClaimTemplate"), {"metadata": {}})
    fill(dig(volume, "ephemeral", "volumeClaimTemplate", "spec"), {"volumeMode": "Filesystem"})
    if isinstance(volume.get("image"), dict):
        fill(volume["image"], {"pullPolicy": pull_policy(str(volume["image"].get("reference") or ""))})
