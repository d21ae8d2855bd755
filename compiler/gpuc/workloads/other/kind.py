"""The records of kinds with pods that gpuc does not trace.

Source: k8s.io/api v0.35 core/v1; the CRDs of argo-rollouts v1.8 and knative serving v1; kubernetes-sigs/kueue v0.19.2
pkg/controller/jobs/{appwrapper,sparkapplication}
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gpuc.manifest.manifest import Body
from gpuc.parts import workload_kind as parts

_TEMPLATE = ("spec.template",)


def _sample(api: str, kind: str, selector: Body, queue: str) -> Body:
    return parts.sample(api, kind, queue, {"template": parts.sample_template("Always", "app"), **selector})


def _template_sample(queue: str) -> Body:
    document = parts.sample("v1", "PodTemplate", queue, {})
    del document["spec"]
    return {**document, "template": parts.sample_template("Always")}


KINDS = (
    replace(
        parts.unknown_kind("argoproj.io", "Rollout"), version="v1alpha1", templates=_TEMPLATE,
        controller=parts.Controller("Argo Rollouts", "argo-rollouts/argo-rollouts", ()),
        sample=partial(_sample, "argoproj.io/v1alpha1", "Rollout", {"selector": {"matchLabels": {"app": "sample"}}}),
    ),
    replace(
        parts.unknown_kind("serving.knative.dev", "Service"), templates=_TEMPLATE,
        controller=parts.Controller("Knative Serving", "knative-serving/controller", ()),
        traits=parts.NO_TRAITS._replace(has_service=True),
        sample=partial(_sample, "serving.knative.dev/v1", "Service", {}),
    ),
    replace(parts.unknown_kind("", "PodTemplate"), templates=("template",), sample=_template_sample),
    replace(
        parts.unknown_kind("", "ReplicationController"), templates=_TEMPLATE,
        controller=parts.Controller("", "kube-system/replication-controller", ()),
        sample=partial(_sample, "v1", "ReplicationController", {"selector": {"app": "sample"}}),
    ),
    *(
        replace(
            parts.unknown_kind(group, kind), version="v1beta2",
            queueing=parts.suspended(f"{group}/{kind.lower()}", None),
            sample=partial(parts.sample, f"{group}/v1beta2", kind, spec={}),
        )
        for group, kind in (("workload.codeflare.dev", "AppWrapper"), ("sparkoperator.k8s.io", "SparkApplication"))
    ),
)  # fmt: skip
