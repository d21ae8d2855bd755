"""Mutations that the API server's validation may refuse: names, types, missing and contradictory fields."""

from __future__ import annotations

from typing import Any

from tests.conformance.workload_drafts import Draft, Mutation, for_all, where

LONG = "a" * 70


def _fail_on_failure(draft: Draft) -> None:
    draft.pod.update(restartPolicy="OnFailure")
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}
    draft.update_job(podFailurePolicy={"rules": [rule]})


def _is_job(draft: Draft) -> bool:
    return draft.job is not None


def _job(**fields: Any) -> Mutation:
    """Returns a mutation that sets fields of a Job's spec."""

    def change(draft: Draft) -> None:
        draft.update_job(**fields)

    return where(_is_job, change)


def _kind(*kinds: str, **fields: Any) -> Mutation:
    """Returns a mutation that sets fields of the spec of workloads of some kinds."""
    return where(lambda draft: draft.kind in kinds, lambda draft: draft.spec.update(fields))


def _named(draft: Draft, name: str) -> None:
    draft.document["metadata"]["name"] = name


def _two_equal_names(draft: Draft) -> None:
    draft.pod["containers"].append({"name": draft.main["name"], "image": draft.main["image"]})


def _two_equal_paths(draft: Draft) -> None:
    draft.add_volume("one", {"emptyDir": {}}, "/data")
    draft.add_volume("two", {"emptyDir": {}}, "/data")


def _other_kind(name: str) -> Mutation:
    """Returns a mutation of a Deployment into another kind with the same selector and template."""

    def change(draft: Draft) -> None:
        draft.document["kind"] = name
        kept = ("selector", "template") + (("replicas",) if name == "ReplicaSet" else ())
        draft.document["spec"] = {field: value for field, value in draft.spec.items() if field in kept}

    return where(lambda draft: draft.kind == "Deployment", change)


def _without_image(draft: Draft) -> None:
    del draft.main["image"]


def _metadata_of_template(draft: Draft, part: str, key: str, value: Any) -> None:
    draft.template.setdefault("metadata", {}).setdefault(part, {})[key] = value


FIELDS: dict[str, Mutation] = {
    "restartPolicy Always in a Job": where(_is_job, lambda d: d.pod.update(restartPolicy="Always")),
    "no restartPolicy in a Job": where(lambda d: d.kind in ("Job", "CronJob"), lambda d: d.pod.pop("restartPolicy")),
    "restartPolicy Never in a service": where(
        lambda d: d.kind in ("Deployment", "StatefulSet"), lambda d: d.pod.update(restartPolicy="Never")
    ),
    "no image": for_all(_without_image),
    "image with a space": for_all(lambda d: d.main.update(image=" " + d.main["image"])),
    "container name with an underscore": for_all(lambda d: d.main.update(name="my_worker")),
    "two equal container names": for_all(_two_equal_names),
    "no containers": for_all(lambda d: d.pod.update(containers=[])),
    "unknown field of the pod": for_all(lambda d: d.pod.update(gpuCount=1)),
    "unknown field of the container": for_all(lambda d: d.main.update(resource={})),
    "unknown field of the workload": for_all(lambda d: d.spec.update(replicaCount=2)),
    "text instead of a number": for_all(lambda d: d.pod.update(terminationGracePeriodSeconds="30")),
    "list instead of text": for_all(lambda d: d.main.update(image=["train:1"])),
    "text instead of a list": for_all(lambda d: d.main.update(command="python3 train.py")),
    "number as a value of env": for_all(lambda d: d.add_env(name="WORLD", value=8)),
    "number as a label": for_all(lambda d: _metadata_of_template(d, "labels", "example.com/version", 1)),
    "number as an annotation": for_all(lambda d: d.annotate("example.com/number", 7)),
    "boolean as an annotation": for_all(lambda d: d.annotate("karpenter.sh/do-not-disrupt", True)),
    "long label value": for_all(lambda d: _metadata_of_template(d, "labels", "example.com/run", LONG)),
    "label value with a space": for_all(lambda d: _metadata_of_template(d, "labels", "example.com/run", "a b")),
    "label key with two slashes": for_all(lambda d: _metadata_of_template(d, "labels", "example.com/a/b", "c")),
    "name of 70 characters": for_all(lambda d: _named(d, f"{d.document['metadata']['name']}-{LONG}"[:70])),
    "name of 60 characters": for_all(lambda d: _named(d, f"{d.document['metadata']['name']}-{LONG}"[:60])),
    "name of 300 characters": for_all(lambda d: _named(d, f"{d.document['metadata']['name']}-{LONG * 5}"[:300])),
    "name with capitals": for_all(lambda d: _named(d, d.document["metadata"]["name"].title())),
    "name with a dot": for_all(lambda d: _named(d, f"{d.document['metadata']['name']}.v1")),
    "mount without a volume": for_all(
        lambda d: d.main.setdefault("volumeMounts", []).append({"name": "absent", "mountPath": "/absent"})
    ),
    "missing PersistentVolumeClaim": for_all(
        lambda d: d.add_volume("data", {"persistentVolumeClaim": {"claimName": "absent"}})
    ),
    "two sources of a volume": for_all(
        lambda d: d.add_volume("both", {"emptyDir": {}, "configMap": {"name": "settings"}})
    ),
    "volume without a source": for_all(lambda d: d.add_volume("nothing", {})),
    "two mounts at one path": for_all(_two_equal_paths),
    "relative mount path": for_all(lambda d: d.add_volume("relative", {"emptyDir": {}}, "data")),
    "mount path with a colon": for_all(lambda d: d.add_volume("colon", {"emptyDir": {}}, "/data:ro")),
    "missing ConfigMap": for_all(lambda d: d.add_volume("absent", {"configMap": {"name": "absent"}})),
    "environment variable with a space": for_all(lambda d: d.add_env(name="MY VAR", value="1")),
    "environment variable with two values": for_all(
        lambda d: d.add_env(name="BOTH", value="1", valueFrom={"fieldRef": {"fieldPath": "metadata.name"}})
    ),
    "unknown fieldRef": for_all(lambda d: d.add_env(name="X", valueFrom={"fieldRef": {"fieldPath": "spec.absent"}})),
    "probe without an action": for_all(lambda d: d.main.update(livenessProbe={"periodSeconds": 5})),
    "probe with two actions": for_all(
        lambda d: d.main.update(readinessProbe={"exec": {"command": ["true"]}, "tcpSocket": {"port": 80}})
    ),
    "probe of an unknown port name": for_all(
        lambda d: d.main.update(readinessProbe={"httpGet": {"path": "/", "port": "absent"}})
    ),
    "successThreshold of a liveness probe": for_all(
        lambda d: d.main.update(livenessProbe={"tcpSocket": {"port": 80}, "successThreshold": 2})
    ),
    "preStop sleep beyond the grace period": for_all(
        lambda d: (
            d.pod.update(terminationGracePeriodSeconds=5),
            d.main.update(lifecycle={"preStop": {"sleep": {"seconds": 60}}}),
        )
    ),
    "preStop without an action": for_all(lambda d: d.main.update(lifecycle={"preStop": {}})),
    "port 70000": for_all(lambda d: d.main.update(ports=[{"containerPort": 70000}])),
    "two equal port names": for_all(
        lambda d: d.main.update(
            ports=[{"containerPort": 80, "name": "http"}, {"containerPort": 81, "name": "http"}], livenessProbe=None
        )
    ),
    "unknown protocol": for_all(lambda d: d.main.update(ports=[{"containerPort": 80, "protocol": "HTTP"}])),
    "bad cron schedule": _kind("CronJob", schedule="every day"),
    "cron schedule with six fields": _kind("CronJob", schedule="0 0 3 * * *"),
    "unknown time zone": _kind("CronJob", timeZone="Mars/Olympus"),
    "suspended CronJob": _kind("CronJob", suspend=True),
    "other labels than the selector": where(
        lambda d: d.kind in ("Deployment", "StatefulSet"),
        lambda d: d.template["metadata"]["labels"].update({"app.kubernetes.io/name": "other"}),
    ),
    "no selector": where(lambda d: d.kind in ("Deployment", "StatefulSet"), lambda d: d.spec.pop("selector")),
    "selector of a Job": _job(selector={"matchLabels": {"app": "x"}}),
    "Indexed Job without completions": where(
        _is_job, lambda d: d.update_job(completions=None, completionMode="Indexed", parallelism=1)
    ),
    "activeDeadlineSeconds 0": _job(activeDeadlineSeconds=0),
    "negative activeDeadlineSeconds": _job(activeDeadlineSeconds=-5),
    "negative backoffLimit": _job(backoffLimit=-1),
    "parallelism 0": _job(parallelism=0),
    "negative parallelism": _job(parallelism=-1),
    "replicas 0": _kind("Deployment", "StatefulSet", replicas=0),
    "negative replicas": _kind("Deployment", "StatefulSet", replicas=-1),
    "maxSurge and maxUnavailable 0": _kind(
        "Deployment", strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}
    ),
    "podFailurePolicy with OnFailure": where(_is_job, _fail_on_failure),
    "ReplicaSet instead of a Deployment": _other_kind("ReplicaSet"),
    "DaemonSet instead of a Deployment": _other_kind("DaemonSet"),
    "old API version": for_all(lambda d: d.document.update(apiVersion="extensions/v1beta1")),
    "misspelled kind": for_all(lambda d: d.document.update(kind=d.document["kind"].lower())),
    "schedulingGates": for_all(lambda d: d.pod.update(schedulingGates=[{"name": "example.com/wait"}])),
    "unknown scheduler": for_all(lambda d: d.pod.update(schedulerName="volcano")),
    "suspend true": _job(suspend=True),
    "unknown dnsPolicy": for_all(lambda d: d.pod.update(dnsPolicy="Cluster")),
    "sizeLimit of 8GB": for_all(lambda d: d.add_volume("limited", {"emptyDir": {"sizeLimit": "8GB"}})),
    "namespace of another tenant": for_all(
        lambda d: d.document["metadata"].update(
            namespace=next(name for name in d.cluster.tenant_namespaces
                           if name not in {own.name for own in d.target.tenant.namespaces})
        )
    ),
}  # fmt: skip
"""Mutations by name."""
