"""The records of kinds with pods that gpuc does not trace.

Source: k8s.io/api v0.35 core/v1; the CRDs of argo-rollouts v1.8 and knative serving v1; kubernetes-sigs/kueue v0.19.2
pkg/controller/jobs/{appwrapper,sparkapplication}
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gpuc.manifest.manifest import Body
from gpuc.parts.workload_kind import NOT_QUEUED, Controller, sample, sample_template, unknown_kind

_TEMPLATE = ("spec.template",)
_APP = "app"


def _selected(api: str, kind: str, queue: str) -> Body:
    spec = {"selector": {"matchLabels": {_APP: "sample"}}, "template": sample_template("Always", _APP)}
    return sample(api, kind, queue, spec)


def _controller_sample(queue: str) -> Body:
    spec = {"selector": {_APP: "sample"}, "template": sample_template("Always", _APP)}
    return sample("v1", "ReplicationController", queue, spec)


def _template_sample(queue: str) -> Body:
    document = sample("v1", "PodTemplate", queue, {})
    return {key: value for key, value in document.items() if key != "spec"} | {"template": sample_template("Always")}


def _service_sample(queue: str) -> Body:
    return sample("serving.knative.dev/v1", "Service", queue, {"template": sample_template("Always")})


KINDS = (
    replace(
        unknown_kind("argoproj.io", "Rollout"),
        version="v1alpha1",
        templates=_TEMPLATE,
        controller=Controller("Argo Rollouts", "argo-rollouts/argo-rollouts", ()),
        sample=partial(_selected, "argoproj.io/v1alpha1", "Rollout"),
    ),
    replace(
        unknown_kind("serving.knative.dev", "Service"),
        templates=_TEMPLATE,
        controller=Controller("Knative Serving", "knative-serving/controller", ()),
        has_service=True,
        sample=_service_sample,
    ),
    replace(unknown_kind("", "PodTemplate"), templates=("template",), sample=_template_sample),
    replace(
        unknown_kind("", "ReplicationController"),
        templates=_TEMPLATE,
        controller=Controller("", "kube-system/replication-controller", ()),
        sample=_controller_sample,
    ),
    *(
        replace(
            unknown_kind(group, kind),
            version="v1beta2",
            queueing=NOT_QUEUED._replace(framework=f"{group}/{kind.lower()}"),
            sample=partial(sample, f"{group}/v1beta2", kind, spec={}),
        )
        for group, kind in (("workload.codeflare.dev", "AppWrapper"), ("sparkoperator.k8s.io", "SparkApplication"))
    ),
)
