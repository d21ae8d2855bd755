"""The annotations of controllers: each key has one use, and a key is found by itself or by its pattern."""

from collections import Counter

import pytest

from gpuc.catalog.annotations import annotation, annotations, controller_of, traffic_kinds
from gpuc.diagnostics.usage import UsageError
from gpuc.model.tenant_kinds import DENIED_KINDS
from gpuc.objects.symbol_table import kind_of
from gpuc.spec.annotation_text import explain_annotation
from gpuc.spec.tenants import Exposed

LISTS = {field.alias for field in Exposed.model_fields.values()} - {"loadBalancers", "nodePorts", "annotations"}


def test_each_key_has_one_use_and_a_source_with_a_version() -> None:
    counts = Counter(entry.key for entry in annotations())
    assert [key for key, count in counts.items() if count > 1] == []
    assert {entry.use for entry in annotations()} <= {"free", "granted", *LISTS}
    assert all(any(letter.isdigit() for letter in entry.source) for entry in annotations())


@pytest.mark.parametrize(
    ("key", "use"),
    [
        ("alb.ingress.kubernetes.io/conditions.web", "granted"),
        ("alb.ingress.kubernetes.io/group.name", "groups"),
        ("external-dns.alpha.kubernetes.io/aws-weight", "free"),
        ("kubernetes.io/ingress.class", "classes"),
        ("nginx.ingress.kubernetes.io/from-to-www-redirect", "granted"),
        ("nginx.ingress.kubernetes.io/server-alias", "hosts"),
        ("service.beta.kubernetes.io/actions.tcp-80", "granted"),
    ],
)
def test_an_annotation_is_found(key: str, use: str) -> None:
    entry = annotation(key)
    assert entry is not None and entry.use == use
    expected = "every tenant may use it" if use == "free" else f"exposed.{'annotations' if use == 'granted' else use}"
    assert expected in explain_annotation(key) and entry.source in explain_annotation(key)


def test_clusters_without_a_cloud_have_no_controllers_of_a_cloud() -> None:
    assert controller_of("alb.ingress.kubernetes.io/group.name", "none") is None
    assert controller_of("alb.ingress.kubernetes.io/group.name", "eks") is not None


def test_unknown_annotations_are_explained() -> None:
    assert "does not know this annotation" in explain_annotation("cert-manager.io/of-tomorrow")
    assert "only with values that exposed.issuers" in explain_annotation("cert-manager.io/")
    with pytest.raises(UsageError, match=r"the policies do not read the annotation example\.com/x"):
        explain_annotation("example.com/x")


def test_tenants_may_not_have_kinds_that_no_policy_checks() -> None:
    assert {kind_of(kind) for kind in traffic_kinds()} <= DENIED_KINDS.keys()
