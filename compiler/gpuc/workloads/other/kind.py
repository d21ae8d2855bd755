"""What gpuc knows about the kinds with pods for which `gpuc trace` does not work.

Source: k8s.io/api v0.35 core/v1; the CRDs of argo-rollouts v1.8 and knative serving v1; kubernetes-sigs/kueue v0.19.2
pkg/controller/jobs/{appwrapper,sparkapplication}
"""

from msgspec.structs import replace

from gpuc.parts import workload_kind as parts

_TEMPLATE = ("spec.template",)


_SAMPLE_TEMPLATE = {"template": parts.sample_template("Always", "app")}
KINDS = (
    replace(
        parts.unknown_kind("argoproj.io", "Rollout"), version="v1alpha1", templates=_TEMPLATE,
        controller=parts.Controller("Argo Rollouts", "argo-rollouts/argo-rollouts", ()),
        sample_fields={"spec": {**_SAMPLE_TEMPLATE, "selector": {"matchLabels": {"app": "sample"}}}},
    ),
    replace(
        parts.unknown_kind("serving.knative.dev", "Service"), templates=_TEMPLATE,
        controller=parts.Controller("Knative Serving", "knative-serving/controller", ()),
        traits=parts.NO_TRAITS._replace(has_service=True), sample_fields={"spec": _SAMPLE_TEMPLATE},
    ),
    replace(parts.unknown_kind("", "PodTemplate"), templates=("template",), sample_fields=_SAMPLE_TEMPLATE),
    replace(
        parts.unknown_kind("", "ReplicationController"), templates=_TEMPLATE,
        controller=parts.Controller("", "kube-system/replication-controller", ()),
        sample_fields={"spec": {**_SAMPLE_TEMPLATE, "selector": {"app": "sample"}}},
    ),
    *(
        replace(
            parts.unknown_kind(group, kind), version="v1beta2",
            queueing=parts.suspended(f"{group}/{kind.lower()}", None), sample_fields={"spec": {}},
        )
        for group, kind in (("workload.codeflare.dev", "AppWrapper"), ("sparkoperator.k8s.io", "SparkApplication"))
    ),
)  # fmt: skip
