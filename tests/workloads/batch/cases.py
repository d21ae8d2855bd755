"""Jobs and CronJobs with one changed field, and whether the API server refuses them."""

from __future__ import annotations

from tests.admission.validation.bases import DELETE, Case

_T = "spec.template.spec"
_C = f"{_T}.containers.0"
_RULES = "spec.podFailurePolicy.rules"
_INDEXED = {"spec.completionMode": "Indexed", "spec.completions": 4}
_CODES = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}
_LONG = "a" * 60
_QUEUE = "metadata|labels|kueue.x-k8s.io/queue-name"
_REQUIRED, _SLICE, _SIZE = (
    f"kueue.x-k8s.io/podset-{name}" for name in ("required-topology", "slice-required-topology", "slice-size")
)
_ANNOTATIONS = "spec|template|metadata|annotations"
_MINIMUM = "metadata|annotations|kueue.x-k8s.io/job-min-parallelism"
CASES = [
    Case("Job", {}, None),
    Case("Job", {f"{_T}.restartPolicy": DELETE}),
    Case("Job", {f"{_T}.restartPolicy": "Always"}),
    Case("Job", {f"{_C}.image": DELETE}),
    Case("Job", {f"{_C}.image": " a "}, None),
    Case("Job", {f"{_C}.name": "Trainer"}),
    Case("Job", {"spec.parallelism": -1}),
    Case("Job", {"spec.completions": -1}),
    Case("Job", {"spec.backoffLimit": -1}),
    Case("Job", {"spec.ttlSecondsAfterFinished": -1}),
    Case("Job", {"spec.activeDeadlineSeconds": -1}),
    Case("Job", {"spec.activeDeadlineSeconds": "1h"}),
    Case("Job", {"spec.completionMode": "Index"}),
    Case("Job", {"spec.completionMode": "Indexed", "spec.parallelism": 2}, "spec.completions"),
    Case("Job", {**_INDEXED}, None),
    Case("Job", {**_INDEXED, "spec.parallelism": 100001}, "spec.parallelism"),
    Case("Job", {"spec.backoffLimitPerIndex": 1}),
    Case("Job", {**_INDEXED, "spec.backoffLimitPerIndex": 1}, None),
    Case("Job", {**_INDEXED, "spec.maxFailedIndexes": 1}, "spec.backoffLimitPerIndex"),
    Case("Job", {**_INDEXED, "spec.backoffLimitPerIndex": 1, "spec.maxFailedIndexes": 5}, "spec.maxFailedIndexes"),
    Case("Job", {**_INDEXED, "metadata.name": _LONG + "-bb"}, "metadata.name"),
    Case("Job", {**_INDEXED, "metadata.name": "a.b"}, "metadata.name"),
    Case("Job", {"metadata.name": "a.b"}, None),
    Case("Job", {"metadata.name": "a" * 64}, "spec.template.metadata.labels.job-name"),
    Case("Job", {"spec.selector": {"matchLabels": {"app": "a"}}}),
    Case("Job", {"spec.manualSelector": True, "spec.selector": {"matchLabels": {"app": "a"}}}, None),
    Case("Job", {"spec.manualSelector": True}, "spec.selector"),
    Case(
        "Job",
        {"spec.manualSelector": True, "spec.selector": {"matchLabels": {"app": "b"}}},
        "spec.template.metadata.labels",
    ),
    Case("Job", {"spec.template.metadata.labels": {"job-name": "b"}}, "spec.template.metadata.labels.job-name"),
    Case(
        "Job",
        {"spec.template.metadata.labels": {"controller-uid": "b"}},
        "spec.template.metadata.labels.controller-uid",
    ),
    Case("Job", {"spec.template.metadata.labels": DELETE, "spec.template.metadata.creationTimestamp": None}, None),
    Case("Job", {"spec.template.metadata.annotations": {"a": 1}}, "spec.template.metadata.annotations.a"),
    Case("Job", {"spec.managedBy": "kueue"}),
    Case("Job", {"spec.managedBy": "kueue.x-k8s.io/multikueue"}, None),
    Case("Job", {"spec.podReplacementPolicy": "Never"}),
    Case("Job", {_RULES: [_CODES]}, None),
    Case("Job", {_RULES: [_CODES], f"{_T}.restartPolicy": "OnFailure"}, f"{_T}.restartPolicy"),
    Case("Job", {_RULES: [_CODES], "spec.podReplacementPolicy": "TerminatingOrFailed"}, "spec.podReplacementPolicy"),
    Case("Job", {_RULES: [{"action": "FailJob"}]}, f"{_RULES}.0"),
    Case("Job", {_RULES: [{**_CODES, "action": "Fail"}]}, f"{_RULES}.0.action"),
    Case("Job", {_RULES: [{**_CODES, "action": "FailIndex"}]}, f"{_RULES}.0.action"),
    Case("Job", {_RULES: [{**_CODES, "onPodConditions": [{"type": "DisruptionTarget"}]}]}, f"{_RULES}.0"),
    Case("Job", {_RULES: [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}, None),
    Case(
        "Job",
        {_RULES: [{"action": "Ignore", "onPodConditions": [{"type": "a", "status": "true"}]}]},
        f"{_RULES}.0.onPodConditions.0.status",
    ),
    Case(
        "Job",
        {_RULES: [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 1]}}]},
        f"{_RULES}.0.onExitCodes.values",
    ),
    Case(
        "Job",
        {_RULES: [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [0]}}]},
        f"{_RULES}.0.onExitCodes.values",
    ),
    Case(
        "Job",
        {_RULES: [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": []}}]},
        f"{_RULES}.0.onExitCodes.values",
    ),
    Case(
        "Job",
        {_RULES: [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1], "containerName": "b"}}]},
        f"{_RULES}.0.onExitCodes.containerName",
    ),
    Case("Job", {"spec.successPolicy": {"rules": [{"succeededCount": 1}]}}),
    Case("Job", {"spec.successPolicy": {"rules": [{"succeededCount": 1}]}, **_INDEXED}, None),
    Case(
        "Job",
        {"spec.successPolicy": {"rules": [{"succeededCount": 5}]}, **_INDEXED},
        "spec.successPolicy.rules.0.succeededCount",
    ),
    Case(
        "Job",
        {"spec.successPolicy": {"rules": [{"succeededIndexes": "0-4"}]}, **_INDEXED},
        "spec.successPolicy.rules.0.succeededIndexes",
    ),
    Case(
        "Job",
        {"spec.successPolicy": {"rules": [{"succeededIndexes": "1,0"}]}, **_INDEXED},
        "spec.successPolicy.rules.0.succeededIndexes",
    ),
    Case(
        "Job",
        {"spec.successPolicy": {"rules": [{"succeededIndexes": "0-2", "succeededCount": 4}]}, **_INDEXED},
        "spec.successPolicy.rules.0.succeededCount",
    ),
    Case("Job", {"spec.successPolicy": {"rules": []}, **_INDEXED}, "spec.successPolicy.rules"),
    Case("Job", {"spec.paralellism": 2}),
    Case("Job", {f"{_T}.activeDeadlineSeconds": 5}, None),
    Case("Job", {f"{_T}.hostNetwork": True, f"{_C}.ports": [{"containerPort": 80}]}, None),
    Case(
        "Job",
        {"spec|template|spec|containers|0|resources": {"requests": {"nvidia.com/gpu": 1}}},
        f"{_C}.resources.limits",
    ),
    Case("CronJob", {}, None),
    Case("CronJob", {"metadata.name": "a" * 53}),
    Case("CronJob", {"spec.schedule": DELETE}),
    Case("CronJob", {"spec.schedule": "* * * *"}),
    Case("CronJob", {"spec.schedule": "60 * * * *"}),
    Case("CronJob", {"spec.schedule": "0 0 * * 7"}),
    Case("CronJob", {"spec.schedule": "*/0 * * * *"}),
    Case("CronJob", {"spec.schedule": "0 0 5-1 * *"}),
    Case("CronJob", {"spec.schedule": "0 0 * * mon-fri"}, None),
    Case("CronJob", {"spec.schedule": "5/15 0 ? JAN,feb *"}, None),
    Case("CronJob", {"spec.schedule": "@daily"}, None),
    Case("CronJob", {"spec.schedule": "@every 1h30m"}, None),
    Case("CronJob", {"spec.schedule": "@every day"}),
    Case("CronJob", {"spec.schedule": "@fortnightly"}),
    Case("CronJob", {"spec.schedule": "CRON_TZ=UTC 0 * * * *"}),
    Case("CronJob", {"spec.timeZone": "Europe/Berlin"}, None),
    Case("CronJob", {"spec.timeZone": "US/Pacific"}, None),
    Case("CronJob", {"spec.timeZone": "Berlin"}),
    Case("CronJob", {"spec.timeZone": "Local"}),
    Case("CronJob", {"spec.timeZone": ""}),
    Case("CronJob", {"spec.concurrencyPolicy": "Never"}),
    Case("CronJob", {"spec.startingDeadlineSeconds": -1}),
    Case("CronJob", {"spec.jobTemplate.spec.template.spec.restartPolicy": DELETE}),
    Case("CronJob", {"spec.jobTemplate.spec.selector": {"matchLabels": {"app": "a"}}}),
    Case("CronJob", {"spec.jobTemplate.spec.manualSelector": True}),
    Case("CronJob", {"spec.jobTemplate.metadata.labels": {"a": "b c"}}, None),
    Case("Job", {"spec.suspend": True}, None),
    Case("Job", {"spec.suspend": True, "spec.template.spec.nodeSelector": {"pool": "a"}}, None),
    Case("Job", {"spec.template.spec.nodeSelector": {"pool": "b"}}, None),
]
WEBHOOK_CASES = [
    Case("Job", {_QUEUE: "team_a"}),
    Case("Job", {_QUEUE: "Team"}),
    Case("Job", {_MINIMUM: "2", "spec.parallelism": 4, "spec.completions": 4}, None),
    Case("Job", {_MINIMUM: "4", "spec.parallelism": 4}),
    Case("Job", {_MINIMUM: "two"}),
    Case("Job", {"metadata|labels|kueue.x-k8s.io/max-exec-time-seconds": "0"}),
    Case("Job", {_ANNOTATIONS: {_REQUIRED: "a", "kueue.x-k8s.io/podset-preferred-topology": "b"}}),
    Case("Job", {_ANNOTATIONS: {_REQUIRED: "a b"}}, f"{_ANNOTATIONS}|{_REQUIRED}"),
    Case("Job", {_ANNOTATIONS: {_SLICE: "a"}}, f"{_ANNOTATIONS}|{_SIZE}"),
    Case("Job", {_ANNOTATIONS: {_SLICE: "a", _SIZE: "4"}, "spec.parallelism": 2}, f"{_ANNOTATIONS}|{_SIZE}"),
    Case("Job", {_ANNOTATIONS: {_REQUIRED: "a", _SLICE: "a", _SIZE: "2"}, "spec.parallelism": 2}, None),
    Case(
        "Job",
        {_ANNOTATIONS: {"kueue.x-k8s.io/podset-unconstrained-topology": "yes"}},
        f"{_ANNOTATIONS}|kueue.x-k8s.io/podset-unconstrained-topology",
    ),
    Case("Job", {"metadata|annotations|kueue.x-k8s.io/admission-gated-by": "a"}),
]
"""Objects that only webhooks refuse, which a bare API server accepts."""
