"""The policies and the catalog that all clusters of a fleet share. The first cluster that needs them loads them."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gpuc.diagnostics.finding import Finding, StageError

if TYPE_CHECKING:
    from gpuc.catalog import Catalog
    from gpuc.pipeline.fleet_catalog import FleetCatalog
    from gpuc.pipeline.fleet_policies import FleetPolicies

F = TypeVar("F", "FleetPolicies", "FleetCatalog")


class Fleet:
    """The policies and the catalog of a fleet, which are read when they are first used.

    Args:
        root: the folder that contains specs/.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def policies(self) -> "FleetPolicies | None":
        """The policies of the fleet; None if they have errors."""
        return self._policies[0]

    @property
    def catalog(self) -> "Catalog | None":
        """The catalog of gpuc with the entries of the fleet; None if these entries have errors."""
        rows = self._rows[0]
        return rows.catalog if rows else None

    @property
    def findings(self) -> list[Finding]:
        """The findings about the policies of the fleet and about its entries in the catalog."""
        return [*self._policies[1], *self._rows[1]]

    @property
    def is_good(self) -> bool:
        """Whether neither the policies nor the catalog of the fleet have errors."""
        return self.policies is not None and self.catalog is not None

    @cached_property
    def _policies(self) -> "tuple[FleetPolicies | None, tuple[Finding, ...]]":
        from gpuc.pipeline.fleet_policies import fleet_policies

        return _read(fleet_policies, self._root)

    @cached_property
    def _rows(self) -> "tuple[FleetCatalog | None, tuple[Finding, ...]]":
        from gpuc.pipeline.fleet_catalog import fleet_catalog

        return _read(fleet_catalog, self._root)


def _read(read: Callable[[Path], F], root: Path) -> tuple[F | None, tuple[Finding, ...]]:
    try:
        found = read(root)
    except StageError as error:
        return None, tuple(error.findings)
    return found, found.findings
