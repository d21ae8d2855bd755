"""Decides whether Gatekeeper evaluates a request, from its Helm values, webhook configuration and object Config."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from gpuc.admission.admission_rules import in_rules
from gpuc.admission.gatekeeper_match import excluded_namespaces, in_wildcards
from gpuc.admission.policy_expressions import Evaluation, policy_source
from gpuc.admission.policy_review import Review, strings
from gpuc.cel.program import NotEvaluated, Value
from gpuc.objects.object_set import NAMESPACE_NAME, ObjectSet, dig, items, pairs

_CHART = "gatekeeper"
_WEBHOOK = "validation.gatekeeper.sh"
_DEFAULT_NAMESPACE = "gatekeeper-system"
IGNORE_LABEL = "admission.gatekeeper.sh/ignore"
_ALL: dict[str, list[str]] = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
_ROOTS = ("object", "oldObject", "request", "authorizer", "namespaceObject", "variables")
_ACCOUNT = "gatekeeper-admin"


class GatekeeperScope:
    """Which requests Gatekeeper evaluates, and the options of Gatekeeper that decide how it evaluates them."""

    def __init__(self, objects: ObjectSet) -> None:
        self._objects = objects
        self._values: Any = objects.values.get(_CHART)
        self.expands = dig(self._values, "enableGeneratorResourceExpansion") is not False
        """Whether Gatekeeper expands a workload to its pods."""
        self.mutates = dig(self._values, "disableMutation") is not True
        """Whether Gatekeeper's mutators change objects."""
        self.evaluates_cel = dig(self._values, "enableK8sNativeValidation") is not False
        """Whether Gatekeeper evaluates CEL expressions."""
        self.has_webhook = dig(self._values, "disableValidatingWebhook") is not True
        """Whether Gatekeeper has a validating webhook."""
        self.makes_bindings = dig(self._values, "defaultCreateVAPBindingForConstraints") is not False
        """Whether Gatekeeper binds its policies for constraints without scoped enforcement actions."""
        self.limits_policies = self.has_webhook and dig(self._values, "syncVAPEnforcementScope") is not False
        """Whether its policies apply only to the requests that the webhook receives.

        Source: gatekeeper v3.23.0 pkg/drivers/k8scel/transform/make_vap_objects.go
        """
        names = (config.namespace for config in objects.of("config.gatekeeper.sh", "Config"))
        self.namespace = next(filter(None, names), _DEFAULT_NAMESPACE)
        """The namespace of Gatekeeper, which contains the Config."""

    def makes_policies(self, source: Any) -> bool:
        """Returns whether Gatekeeper creates a ValidatingAdmissionPolicy from the CEL expressions of a template.

        Source: gatekeeper v3.23.0 pkg/controller/constraint/constraint_controller.go (ShouldGenerateVAP)
        """
        wanted = dig(source, "generateVAP")
        default = dig(self._values, "defaultCreateVAPForTemplates") is not False
        return default if wanted is None else wanted is True

    def receives(self, review: Review) -> bool | None:
        """Returns whether Gatekeeper evaluates a request; None if gpuc cannot decide this.

        Source: gatekeeper v3.23.0 pkg/webhook/policy.go (Handle)
        """
        if dig(review.request, "userInfo", "username") == f"system:serviceaccount:{self.namespace}:{_ACCOUNT}":
            return False
        if in_wildcards(
            self._objects.once(excluded_namespaces), review.name if review.is_namespace else review.namespace
        ):
            return False
        included = in_rules(self._webhook, review)
        if included is False or not dig(self._webhook, "matchConditions"):
            return included
        fields = {"object": review.document, "oldObject": None, "request": review.request}
        conditions = policy_source(self._webhook, "matchConditions", _ROOTS)
        result = Evaluation(conditions, fields, {}, {}).applies()
        if isinstance(result, NotEvaluated):
            return None
        if isinstance(result, Value):
            return included if result.value is True else False
        return False if conditions.ignores_failures else None

    @cached_property
    def _webhook(self) -> Any:
        """The webhook: from a ValidatingWebhookConfiguration of the input, otherwise from the values of the chart."""
        for manifest in self._objects.of("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"):
            for _, webhook in items(manifest.body.get("webhooks")):
                if dig(webhook, "name") == _WEBHOOK:
                    return {**webhook, "resourceRules": dig(webhook, "rules")}
        return {
            "failurePolicy": dig(self._values, "validatingWebhookFailurePolicy") or "Ignore",
            "namespaceSelector": {"matchExpressions": list(self._namespace_requirements())},
            "objectSelector": dig(self._values, "validatingWebhookObjectSelector") or {},
            "matchPolicy": "Exact",
            "matchConditions": dig(self._values, "validatingWebhookMatchConditions"),
            "resourceRules": dig(self._values, "validatingWebhookCustomRules")
            or [{**_ALL, "scope": dig(self._values, "validatingWebhookScope") or "*"}],
        }

    def _namespace_requirements(self) -> Iterator[dict[str, Any]]:
        """Yields the requirements of the webhook's namespaceSelector.

        Source: gatekeeper v3.23.0 charts/gatekeeper/templates/
        gatekeeper-validating-webhook-configuration-validatingwebhookconfiguration.yaml
        """
        yield {"key": IGNORE_LABEL, "operator": "DoesNotExist"}
        declared = dict(pairs(dig(self._values, "validatingWebhookExemptNamespacesLabels")))
        for key, names in {NAMESPACE_NAME: [], **declared}.items():
            own = [self.namespace] if key == NAMESPACE_NAME else []
            yield {"key": key, "operator": "NotIn", "values": [*strings(names), *own]}
