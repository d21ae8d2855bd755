"""The resource names of kinds are those of the API server and of the CustomResourceDefinitions."""

import pytest

from gpuc.catalog import schemas
from gpuc.kubernetes.resource_name import plural, resource_name
from tests.tables import table

CASES = table(__file__, "test_resource_name.yaml")


@pytest.mark.parametrize(("group", "kind", "name"), CASES["names"])
def test_names(group: str, kind: str, name: str) -> None:
    """The names are those of k8s.io/kubernetes v1.35.4 api/discovery, and of the CustomResourceDefinitions."""
    assert resource_name(group, kind) == name


def test_the_plural_of_every_table_is_known() -> None:
    kinds = {*schemas.custom_kinds(), *schemas.builtin_kinds("1.35")}
    tables = [table for api, kind in kinds if (table := schemas.table(api, kind, "1.35")) and table.plural]
    assert len(tables) > 60
    assert [entry for entry in tables if plural(entry.group, entry.kind) != entry.plural] == []
