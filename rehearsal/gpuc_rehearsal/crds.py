"""Finds the CustomResourceDefinitions of a control plane: in a folder, beside the programs, or in gpuc's schemas."""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpuc.catalog import load
from gpuc.catalog.schemas import Table, custom_kinds, table
from gpuc.catalog.schemas.definition import definition
from gpuc.cluster.application import ARGO
from gpuc.emit.component import components_on
from gpuc.kubernetes.api_groups import CONSTRAINT_API
from gpuc.manifest.manifest import Body
from gpuc.parts.workload_kinds import spec_frameworks
from gpuc_rehearsal.programs import Programs, rehearsals

_OF_PLATFORM = (ARGO, "cilium.io", "monitoring.coreos.com")
"""API groups that every cluster needs and that no component defines."""
_OBJECT: dict[str, Any] = {"type": "object"}
_WITHOUT_SCHEMA = (
    Table("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs", True, _OBJECT),
    Table("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes", True, _OBJECT),
    Table("trainer.kubeflow.org", "v1alpha1", "ClusterTrainingRuntime", "clustertrainingruntimes", False, _OBJECT),
)
"""Kinds that Kueue reads. Their schemas are empty, because upstream's schemas are very large."""
_GATEWAY_API = ("Gateway", "ListenerSet", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute")
_ANY_SPEC = {**_OBJECT, "properties": {"spec": {**_OBJECT, "x-kubernetes-preserve-unknown-fields": True}}}
EXPOSED = (
    *(Table("gateway.networking.k8s.io", "v1", kind, f"{kind.lower()}s", True, _ANY_SPEC) for kind in _GATEWAY_API),
    Table("cert-manager.io", "v1", "Certificate", "certificates", True, _ANY_SPEC),
    Table("externaldns.k8s.io", "v1alpha1", "DNSEndpoint", "dnsendpoints", True, _ANY_SPEC),
)
"""Kinds with which a tenant receives traffic, and whose definitions no component installs.

Their schemas allow every spec.
"""
_NAME = re.compile(rb"^metadata:\n(?:  .*\n)*?  name: (\S+)$", re.MULTILINE)


class Definitions(Struct, frozen=True):
    """The CustomResourceDefinitions of a control plane, and the names of those that come from schemas of gpuc."""

    crds: tuple[bytes | Body, ...]
    structural: tuple[str, ...]
    """Names of the definitions from gpuc's schema tables, which have no CEL rules and no defaults."""


def definitions(
    programs: Programs,
    folder: Path | None,
    frameworks: Iterable[str],
    substrates: Collection[str] | None = None,
    *,
    outside_charts: bool = False,
) -> Definitions:
    """Returns the CustomResourceDefinitions of all kinds that gpuc writes or that the controllers read.

    Args:
        folder: a folder with files, at any depth, that replace the other definitions of the same names.
        frameworks: names of Kueue's enabled integrations, for example batch/job.
        substrates: the folders of the substrates of the clusters; None for all substrates.
        outside_charts: leaves out the definitions that Argo CD or the charts of a cluster install.
    """
    not_run = [component.name for component in components_on(substrates) if component.rehearsal is None]
    of_charts = {row.component: row.groups for row in load().all_releases if not row.optional}
    without_controller = chain.from_iterable(of_charts.get(name, ()) for name in not_run)
    exposed = {schema_table.group for schema_table in EXPOSED}
    groups = {*_OF_PLATFORM, *exposed, *without_controller, *framework_groups(frameworks)}
    rows = rehearsals(substrates)
    bundled = _files(programs.data(row.definitions) for row in rows)
    simulated = _files(programs.data(name) for row in rows for name in row.data if name.endswith("-crds"))
    from_tables = {name: row for name, row in _from_tables() if name in bundled or name.partition(".")[2] in groups}
    selected: dict[str, bytes | Body] = {**from_tables, **bundled}
    without_schema = {f"{schema_table.plural}.{schema_table.group}" for schema_table in (*_WITHOUT_SCHEMA, *EXPOSED)}
    given = _files([folder]) if folder else {}
    selected |= {name: text for name, text in given.items() if name in selected and name not in without_schema}
    unused = {group for row in rows for group in row.unused_groups}
    installed = {name: row for name, row in {**selected, **simulated}.items() if name.partition(".")[2] not in unused}
    if outside_charts:
        of_charts_too = {ARGO, *chain.from_iterable(load().chart_groups.values())}
        kept = {name for name in installed.keys() - bundled if name.partition(".")[2] not in of_charts_too}
        installed = {name: row for name, row in installed.items() if name in kept or name in simulated}
    structural = (name for name, row in installed.items() if isinstance(row, dict) and name not in without_schema)
    return Definitions(tuple(installed.values()), tuple(structural))


def framework_groups(frameworks: Iterable[str]) -> set[str]:
    """Returns the API groups, for example ray.io, of those of Kueue's frameworks whose kinds a rehearsal creates."""
    kinds = (spec_frameworks()[name] for name in frameworks)
    return {kind.group for kind in kinds if kind.traits.is_rehearsed}


def _from_tables() -> Iterator[tuple[str, Body]]:
    """Yields (name, definition) of the newest version of every custom kind, and of the kinds without a schema."""
    for schema_table in (*_WITHOUT_SCHEMA, *EXPOSED):
        body = definition(schema_table)
        if schema_table.group.endswith(".k8s.io"):
            body["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, without a schema"}
        yield f"{schema_table.plural}.{schema_table.group}", body
    for api, kind in custom_kinds():
        newest = table(api, kind, "")
        if newest is not None and api != CONSTRAINT_API:
            yield f"{newest.plural}.{newest.group}", definition(newest)


def _files(folders: Iterable[Path]) -> dict[str, bytes]:
    """Returns the content of every file below folders that is a CustomResourceDefinition, by name."""
    found = {}
    for path in (path for folder in folders for path in sorted(folder.rglob("*.yaml"))):
        text = path.read_bytes()
        name_line = _NAME.search(text)
        if b"\nkind: CustomResourceDefinition\n" in b"\n" + text and name_line:
            found[name_line[1].decode()] = text
    return found
