"""Admission webhooks whose decision gpuc does not know.

gpuc computes the decisions of two webhooks: of Kueue and of Gatekeeper. gpuc also has a list of charts whose webhooks
never check objects of other projects. Every other webhook, and every other chart, may deny an object. gpuc cannot
predict this, so the decision is "unknown".

The webhooks of a project for its own kinds, for example the webhooks of JobSet, belong to the validation of these
kinds. The webhooks of EKS (pod-identity-webhook, vpc-resource-mutating-webhook) are not considered; they deny no pods.
"""

from collections.abc import Iterator
from typing import Any, Final

from gpuc.admission.admission_rules import in_rules
from gpuc.admission.policy_review import Reviews
from gpuc.admission.request import Decision, Request
from gpuc.catalog import load
from gpuc.cluster.application import Delivery, Source
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.api_groups import ADMISSION_REGISTRATION
from gpuc.objects.object_set import ObjectSet, dig, grouped, items

_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
WITHOUT_WEBHOOKS: Final = frozenset((
    "dcgm-exporter", "dra-driver-nvidia-gpu", "eks-node-monitoring-agent", "kube-prometheus-stack",
    "node-readiness-controller",
))  # fmt: skip
"""Charts outside of the release set that have no webhooks, or only webhooks for kinds and pods of the same project.

Source: prometheus-community/helm-charts charts/kube-prometheus-stack/templates/prometheus-operator/admission-webhooks
(only objects of monitoring.coreos.com); values.yaml of the other charts
"""


def webhook_decisions(objects: ObjectSet, request: Request) -> Iterator[Decision]:
    """Yields a decision "unknown" for every webhook, and every chart with webhooks, that may deny a request."""
    modeled = {row.webhook_service for row in load().all_releases}
    for configuration in (manifest for name in _KINDS for manifest in objects.of(ADMISSION_REGISTRATION, name)):
        for number, webhook in items(configuration.body.get("webhooks")):
            service = str(dig(webhook, "clientConfig", "service", "name"))
            if service not in modeled and _matches(objects, webhook, request):
                path: Path = ("webhooks", number)
                name = dig(webhook, "name")
                message = f"gpuc does not call webhook {name} of {configuration}, which can deny the object"
                yield Decision("unknown", f"webhook {name}", message, configuration, path)
    for source in objects.once(_unknown_charts):
        message = f"gpuc does not know whether chart {source.chart} has webhooks that can deny the object"
        yield Decision("unknown", f"webhooks of chart {source.chart}", message, source.application, source.path)


def _unknown_charts(objects: ObjectSet) -> tuple[Source, ...]:
    """Returns one source for every chart whose webhooks gpuc does not know."""
    known = WITHOUT_WEBHOOKS | {row.chart for row in load().all_releases}
    charts = (source for source in Delivery(objects).sources if source.chart)
    unknown = (source for source in charts if source.chart.rpartition("/")[2] not in known)
    return tuple(first for first, *_ in grouped(unknown, lambda source: source.chart).values())


def _matches(objects: ObjectSet, webhook: Any, request: Request) -> bool:
    """Returns whether the API server can call a webhook for the creation of an object.

    gpuc does not evaluate matchConditions, although the API server can skip the webhook because of a condition. Unless
    the rules need the exact version, the API server converts the object to the version of a rule.

    Source: k8s.io/apiserver v0.35.4 pkg/admission/plugin/webhook/predicates
    """
    versions = {} if dig(webhook, "matchPolicy") == "Exact" else {"apiVersions": ["*"]}
    rules = [{**rule, **versions} for _, rule in items(dig(webhook, "rules")) if isinstance(rule, dict)]
    return bool(rules) and in_rules({**webhook, "resourceRules": rules}, objects.once(Reviews).of(request)) is not False
