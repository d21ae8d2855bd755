"""Finds the mistakes of all stages in a spec with errors, so that an error of one stage does not hide later errors.

The later stages get the known part of the spec (known_spec.py). A wrong value is unknown, and every value that depends
on a wrong value is unknown too. A check ends when it reads an unknown value. So each finding is independent of the
errors of earlier stages. The finding remains when the user corrects these errors. gpuc emits nothing from such a spec.
"""

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from gpuc.catalog import Catalog
from gpuc.diagnostics.finding import Finding, Path, StageError
from gpuc.diagnostics.suppressions import unaccepted
from gpuc.diagnostics.unknown import UnknownValueError, until_unknown
from gpuc.extra.files import ManifestFiles
from gpuc.extra.user_objects import UserObjects
from gpuc.model import Cluster
from gpuc.model.resolve import resolve_known
from gpuc.pipeline.fleet_policies import FleetPolicies
from gpuc.pipeline.known_spec import known_spec
from gpuc.pipeline.other_clusters import OtherClusters
from gpuc.pipeline.removal import removal_findings
from gpuc.rules import check
from gpuc.source import Source
from gpuc.source.layers import NO_VALUE
from gpuc.spec.cluster import ClusterSpec
from gpuc.spec.parse import parse
from gpuc.spec.rules import CHOICE, MISSING
from gpuc.write.lockfile import Lock

_IS_NULL = " is nothing; expected "
"""The middle of a message about a null."""


class Inputs(Struct, frozen=True):
    """What the stages of a compile read beside the spec: for example policies, the catalog and manifests."""

    fleet: FleetPolicies | None
    """The policies of the fleet; None if they have errors."""
    catalog: Catalog | None
    """The catalog of the fleet; None if its rows have errors."""
    before: Lock | None = None
    """The gpuc.lock of the present output; None if there is no output."""
    files: ManifestFiles = field(default_factory=ManifestFiles)
    """The manifests that users wrote."""
    other_clusters: OtherClusters | None = None
    """The clusters to compare the spec with; None to compare with no cluster."""


def independent_findings(source: Source, inputs: Inputs) -> list[Finding]:
    """Returns the findings of all stages before the emission, for a spec with errors.

    Args:
        source: the spec as it was read. The findings in `source.remarks` may be errors.
    """
    mistakes = _Mistakes(source)
    shape: Sequence[Finding] = ()
    try:
        parse(source)
    except StageError as error:
        shape = error.findings
    findings = [_described(remark, shape, source) for remark in source.remarks]
    findings += (finding for finding in shape if not mistakes.may_cause(finding))
    if not mistakes.have_places:
        return [*findings, *inputs.files.findings]
    spec = known_spec(source.tree, mistakes.wrong, mistakes.incomplete)
    try:
        later = list(inputs.other_clusters.findings(spec, source)) if inputs.other_clusters else []
        cluster, names = _resolved(spec, source, mistakes, inputs)
    except UnknownValueError:
        return [*findings, *inputs.files.findings]
    findings += names
    if cluster is not None:
        later += [*check(cluster), *until_unknown(removal_findings(cluster, inputs.before))]
    findings += unaccepted(later, source.tree)
    return [*findings, *_manifests(cluster, inputs.files)]


def _described(remark: Finding, shape: Sequence[Finding], source: Source) -> Finding:
    """Returns the finding about a key without a value.

    The message then has the value that the spec language expects.
    """
    if remark.message == NO_VALUE:
        for finding in shape:
            if _IS_NULL in finding.message and source.locate(finding.path) == remark.mark:
                return replace(remark, message=finding.message.replace(_IS_NULL, " has no value; expected "))
    return remark


def _resolved(
    spec: ClusterSpec, source: Source, mistakes: "_Mistakes", inputs: Inputs
) -> tuple[Cluster | None, list[Finding]]:
    """Returns the known part of the cluster, and the findings about names.

    The cluster is None if its known part is not certain.
    """
    if inputs.catalog is None:
        return None, []
    policies = inputs.fleet.policies if inputs.fleet else None
    cluster, names = resolve_known(spec, source.file, inputs.catalog, policies)
    if not names:
        return cluster, []
    wrong = {finding.path[:-1] if finding.on_key else finding.path for finding in names}
    spec = known_spec(source.tree, mistakes.wrong | wrong, mistakes.incomplete)
    cluster, remaining = resolve_known(spec, source.file, inputs.catalog, policies)
    return None if remaining else cluster, names


def _manifests(cluster: Cluster | None, files: ManifestFiles) -> Sequence[Finding]:
    """Returns the errors in the manifests of the cluster. Without the tenants only the files can be checked."""
    try:
        if cluster is not None:
            return UserObjects(cluster, files).errors
    except UnknownValueError:
        pass
    return [finding for finding in files.findings if finding.is_error]


class _Mistakes:
    """The places of the errors in the YAML text of a spec."""

    def __init__(self, source: Source) -> None:
        self.wrong: set[Path] = set()
        """The paths of wrong values, and of values with a wrong key."""
        self.incomplete: set[Path] = set()
        """The paths of maps with a wrong key."""
        self.have_places = True
        """Whether all errors are at a key or value of the merged spec."""
        errors = [finding for finding in source.remarks if finding.is_error]
        if not errors:
            return
        keys = {mark: path for path, mark in source.keys.items()}
        values = {mark: path for path, mark in source.marks.items()}
        for finding in errors:
            marks = [finding.mark, *(related.mark for related in finding.related)]
            places = [keys.get(mark) or values.get(mark) for mark in marks if mark]
            paths = [path for path in (finding.path, *places) if path]
            self.wrong.update(paths)
            self.incomplete.update(path[:-1] for path in paths if source.keys.get(path) in marks)
            self.have_places &= bool(paths)

    def may_cause(self, finding: Finding) -> bool:
        """Returns whether an earlier error can be the cause of a finding about keys and types."""
        if not self.have_places and finding.id in (MISSING.id, CHOICE.id):
            return True
        path = finding.path
        return any(path == other[: len(path)] or path[: len(other)] == other for other in self.wrong)
