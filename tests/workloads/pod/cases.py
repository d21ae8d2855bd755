"""Pods with one changed field, and whether the API server refuses them."""

from __future__ import annotations

from tests.admission.validation.bases import Case

WEBHOOK_CASES = [
    Case(
        "Pod",
        {"metadata|labels|kueue.x-k8s.io/pod-group-name": "g"},
        "metadata|annotations|kueue.x-k8s.io/pod-group-total-count",
    ),
]
"""Objects that only webhooks refuse, which a bare API server accepts."""
