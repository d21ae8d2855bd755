"""Evaluates an admission policy for the examples in its allowed.yaml and denied.yaml, as Gatekeeper does.

An example is an object, or an AdmissionReview with a request to create or update an object. For an object, gpuc does
the same as the audit of Gatekeeper and the program gator: the request has no operation and no user. The parameters of
the policy are in the key `sample` of policy.yaml.
"""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gpuc.admission.gatekeeper_expansion import Expanded, Expansions
from gpuc.admission.gatekeeper_match import in_match
from gpuc.admission.policy_expressions import GATEKEEPER_ROOTS, Evaluation, Verdict, policy_source
from gpuc.admission.policy_review import Review, Reviews
from gpuc.admission.request import Request
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.object_set import ObjectSet
from gpuc.policy.gatekeeper_objects import expansion_templates, template_source
from gpuc.policy.library import Policy

_NAMESPACE = "default"
"""The namespace of examples without a namespace."""


class PolicyExamples:
    """Evaluates one policy for the objects and requests in its files allowed.yaml and denied.yaml."""

    def __init__(self, policy: Policy) -> None:
        expansions = (
            Manifest("", (), "expansion.gatekeeper.sh/v1beta1", "ExpansionTemplate", name, body={"spec": spec})
            for name, spec in expansion_templates()
        )
        objects = ObjectSet(expansions, is_complete=False)
        self._policy = policy
        self._source = policy_source(template_source(policy), "matchCondition", GATEKEEPER_ROOTS)
        self._match = policy.match({})
        self._reviews = Reviews(objects)
        self._expansions = Expansions(objects)

    def verdict(self, document: Body) -> Verdict | None:
        """Returns the policy's decision about an example; None if the policy checks neither the object nor its pods.

        Args:
            document: the example; an object has a kind and metadata, an AdmissionReview has request.object.
        """
        request = document["request"] if document.get("kind") == "AdmissionReview" else {"object": document}
        review = self._review(request)
        found = [self._decision(review, request.get("oldObject"))]
        found += [
            self._decision(expanded.review, None)
            for expanded in self._expansions.expand(review)
            if isinstance(expanded, Expanded)  # an example can lack a pod template
        ]
        verdicts = [verdict for verdict in found if verdict is not None]
        order = ("denied", "unknown", "allowed")
        return min(verdicts, key=lambda verdict: order.index(verdict.outcome), default=None)

    def _review(self, request: Mapping[str, Any]) -> Review:
        document = request["object"]
        metadata = {"namespace": _NAMESPACE, **document.get("metadata", {})}
        review = self._reviews.of(Request({**document, "metadata": metadata}, user=""))
        common = {key: value for key, value in review.request.items() if key != "operation"}
        given = {key: value for key, value in request.items() if key not in ("object", "oldObject")}
        return replace(review, request={**common, "userInfo": {}, **given})

    def _decision(self, review: Review, before: Any) -> Verdict | None:
        if in_match(self._match, review) is False:
            return None
        preset = {"anyObject": review.document, "params": self._policy.sample}
        return Evaluation(self._source, {**review.values, "oldObject": before}, preset, {}).verdict()
