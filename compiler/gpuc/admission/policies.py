"""Evaluates all admission policies of a cluster about a request to create an object."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.admission.gatekeeper import Gatekeeper
from gpuc.admission.policies_native import NativePolicies
from gpuc.admission.policies_other import OtherPolicies
from gpuc.admission.policy_review import Reviews
from gpuc.admission.request import Decision, Request
from gpuc.objects.object_set import ObjectSet


class Policies:
    """The admission policies of an object set: of the API server, of Gatekeeper and of Kyverno."""

    def __init__(self, objects: ObjectSet) -> None:
        self._reviews = Reviews(objects)
        self._native = NativePolicies(objects)
        self._gatekeeper = Gatekeeper(objects)
        self._other = OtherPolicies(objects)

    def decide(self, request: Request) -> Iterator[Decision]:
        """Yields one decision for each policy that applies to a request, in the order of the API server.

        The API server first changes the object, then evaluates its own policies, and then calls webhooks. A workload
        can have several decisions of a constraint: one about the workload, and one about the pods that Gatekeeper
        expands from the workload.
        """
        review = self._reviews.of(request)
        yield from self._native.mutations(review)
        yield from self._gatekeeper.mutations(review)
        yield from self._native.decide(review)
        yield from self._gatekeeper.decide(review)
        yield from self._other.decide(review)
