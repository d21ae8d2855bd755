"""Network exceptions of tenants that name namespaces."""

import copy

import pytest

from gpuc.catalog import load
from gpuc.diagnostics.finding import StageError
from gpuc.model import resolve
from gpuc.source import read
from gpuc.spec.cluster import ClusterSpec
from tests.conftest import ROOT

FILE = "specs/prod-use1.yaml"


@pytest.mark.parametrize("direction", ["egress", "ingress"])
def test_c26_an_exception_for_an_unknown_namespace_is_a_finding(direction: str) -> None:
    tree = copy.deepcopy(read(ROOT, FILE).tree)
    tree["spec"]["tenants"]["search"]["network"][direction][0]["only"] = ["search-servin"]
    with pytest.raises(StageError) as error:
        resolve(ClusterSpec.model_validate(tree), FILE, load())
    (finding,) = error.value.findings
    assert 'namespace of the tenant "search-servin" does not exist' in finding.message
    assert "search-serving" in finding.fix
    assert finding.path == ("spec", "tenants", "search", "network", direction, 0, "only", 0)


@pytest.mark.parametrize(
    ("service_cidr", "expected"),
    [("172.20.0.0/16", "172.20.0.1"), ("10.100.0.0/16", "10.100.0.1"), ("10.0.0.0/32", None), ("10.0.0.0/99", None)],
)
def test_c3_service_kubernetes_has_the_first_address_of_the_range(service_cidr: str, expected: str | None) -> None:
    tree = copy.deepcopy(read(ROOT, FILE).tree)
    tree["spec"].setdefault("network", {})["serviceCidr"] = service_cidr
    assert resolve(ClusterSpec.model_validate(tree), FILE, load()).api_server_service == expected
