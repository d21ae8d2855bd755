"""The catalog that all clusters of a fleet use: the catalog of gpuc, changed by the files in specs/catalog/."""

import os
from pathlib import Path

from msgspec import Struct

from gpuc.catalog import Catalog, load
from gpuc.diagnostics.finding import Finding, StageError
from gpuc.documents.fleet_files import CATALOG


class FleetCatalog(Struct, frozen=True):
    """The catalog of a fleet, which has no errors, and the warnings about its files."""

    catalog: Catalog
    findings: tuple[Finding, ...] = ()
    """Warnings and infos about the rows of the fleet."""


def fleet_catalog(root: Path) -> FleetCatalog:
    """Returns the catalog of gpuc, with the entries of the fleet if the fleet has specs/catalog/.

    Args:
        root: the folder that contains specs/.

    Raises:
        StageError: with all findings about the files in specs/catalog/, if one of them is an error.
    """
    if not os.path.lexists(root / "specs" / CATALOG):
        return FleetCatalog(load())
    from gpuc.pipeline.fact_files import fact_files
    from gpuc.pipeline.own_rows import merge

    findings: list[Finding] = []
    own, found = merge(list(fact_files(root, findings)))
    findings += found
    if any(finding.is_error for finding in findings):
        raise StageError(findings)
    return FleetCatalog(Catalog(own), tuple(findings))
