"""The class UserObjects, with which a compile reads the objects of users, emits their Applications and checks them.

A cluster without manifests does not import the modules that read and check them.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gpuc.diagnostics.finding import Finding, Mark
from gpuc.diagnostics.spelling import nearest
from gpuc.extra.files import BAD_FILE, ManifestFiles
from gpuc.model import Cluster

if TYPE_CHECKING:
    from gpuc.manifest.manifest import Artifact, Manifest

FOLDER = "extra"
"""The folder of the objects below out/<cluster>/."""


class UserObjects:
    """The objects that users write in specs/<cluster>/manifests/ of a cluster.

    Args:
        files: the files in the folder of manifests of the cluster.
    """

    def __init__(self, cluster: Cluster, files: ManifestFiles) -> None:
        self._cluster = cluster
        self._tenants = {tenant.name: tenant for tenant in cluster.tenants}
        self.manifests: tuple[Manifest, ...] = ()
        """The objects, in the order of the files."""
        found = list(files.findings)
        for name, folder in files.folders.items():
            if name not in self._tenants:
                expected, suggestion = " or ".join(self._tenants) or "no folder", nearest(name, self._tenants)
                message = f"{folder} has the name of no tenant; expected {expected}"
                fix = f"rename the folder to {suggestion}" if suggestion else ""
                found.append(BAD_FILE.at(("spec",), message, fix=fix, mark=Mark(folder, 1, 1)))
        if files.files:
            found += self._read(files)

        self.errors = tuple(finding for finding in found if finding.is_error)
        """Mistakes in files, documents and namespaces. The spec cannot accept them."""
        self.remarks = tuple(finding for finding in found if not finding.is_error)

    @property
    def owners(self) -> tuple[str, ...]:
        """The tenants that have objects, in alphabetical order. An empty text means objects of the platform."""
        return tuple(sorted({self._tenant_of(manifest) for manifest in self.manifests}))

    def applications(self) -> "list[Artifact]":
        """Returns the AppProjects and Applications with which Argo CD applies the objects."""
        from gpuc.emit.metadata import with_metadata
        from gpuc.extra.applications import applications

        return with_metadata(self._cluster, applications(self._cluster, self.manifests))

    def duplicates(self, artifacts: "Sequence[Artifact]") -> list[Finding]:
        """Returns a finding for each object that the output contains twice. The spec cannot accept these findings.

        Args:
            artifacts: the artifacts of gpuc.
        """
        if not self.manifests:
            return []
        from gpuc.extra.checks import duplicates

        return list(duplicates(artifacts, self.manifests))

    def findings(self, artifacts: "Sequence[Artifact]") -> list[Finding]:
        """Returns findings about charts and objects of users, and about objects of gpuc that conflict with them.

        Args:
            artifacts: the artifacts of gpuc.
        """
        found: list[Finding] = []
        if self._cluster.spec.charts:
            from gpuc.extra.chart_pods import chart_findings

            found += chart_findings(self._cluster, [*artifacts, *self.manifests])
        if not self.manifests:
            return found
        from gpuc.extra.checks import findings

        return found + findings(artifacts, self.manifests, self._cluster.spec.kubernetes, self._cluster.catalog)

    def _read(self, files: ManifestFiles) -> Iterator[Finding]:
        """Reads the objects of all files, and yields the findings about documents, namespaces and kinds."""
        from gpuc.extra.objects import ReadObjects, add_objects
        from gpuc.extra.scope import scope_findings

        objects = ReadObjects()
        for file in files.files:
            if file.tenant in self._tenants or not file.tenant:
                folder = f"{FOLDER}/{file.tenant}" if file.tenant else FOLDER
                output = self._cluster.out(f"{folder}/{file.file.rpartition('/')[2]}")
                origin = self._tenants[file.tenant].path if file.tenant else ("spec",)
                add_objects(objects, file, output, origin)
        self.manifests = tuple(objects.manifests)
        yield from objects.findings
        yield from scope_findings(self._cluster, self.manifests, self._tenant_of)

    def _tenant_of(self, manifest: "Manifest") -> str:
        """Returns the tenant of an object; empty for an object of the platform."""
        return manifest.file.removeprefix(self._cluster.out(f"{FOLDER}/")).rpartition("/")[0]
