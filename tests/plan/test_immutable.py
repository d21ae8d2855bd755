"""Changes that the API server refuses: changes of two objects."""

from typing import Any

import pytest

from gpuc.manifest.manifest import Manifest
from gpuc.plan.change import Pair
from gpuc.plan.immutable import refused_fields
from tests.tables import table

_TABLE = table(__file__, "immutable.yaml")


@pytest.mark.parametrize("row", [*_TABLE["refused"], *_TABLE["allowed"]], ids=lambda row: row["kind"])
def test_only_these_fields_cannot_change(row: dict[str, Any]) -> None:
    api, _, kind = row["kind"].rpartition("/")
    pair = Pair(
        *(
            Manifest("objects.yaml", (), api, kind, "one", body, annotations=body.get("annotations", {}))
            for body in (row["before"], row["after"])
        )
    )
    assert [".".join(map(str, path)) for path, _ in refused_fields(pair)] == row.get("fields", [])
