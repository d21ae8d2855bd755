"""The conformance test that follows READMEs with kubectl puts existing names in place of placeholders."""

from __future__ import annotations

import pytest

from tests.conformance.readmes import substituted

NAMES = {"NODE": "node-1", "NAME": "name-1", "NAMESPACE": "space-1"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kubectl get node NODE", "kubectl get node node-1"),
        ("""jsonpath='{range .items[?(@.a=="NODE")]}'""", """jsonpath='{range .items[?(@.a=="node-1")]}'"""),
        ("--field-selector spec.nodeName=NODE", "--field-selector spec.nodeName=node-1"),
        ("-o custom-columns='NAME:.a,NODE:.b'", "-o custom-columns='NAME:.a,NODE:.b'"),
        ("delete pod -n NAMESPACE NAME", "delete pod -n space-1 name-1"),
        ('for NAMESPACE in a; do kubectl -n "$NAMESPACE"', 'for NAMESPACE in a; do kubectl -n "$NAMESPACE"'),
        ("kubectl -n ${NAMESPACE}", "kubectl -n ${NAMESPACE}"),
        ("NAME=$(a); NODE_NAME", "NAME=$(a); NODE_NAME"),
        ("HUB=CONTEXT_OF_THE_CLUSTER_OF_ARGO_CD", "HUB=hub"),
        ("WORKLOAD=CONTEXT_OF_vega-prod", "WORKLOAD=cluster"),
    ],
)  # fmt: skip
def test_placeholders_become_names(text: str, expected: str) -> None:
    assert substituted(text, NAMES) == expected
