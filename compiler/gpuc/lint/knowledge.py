"""What the input of `gpuc lint` proves about a cluster: a folder may be a part of it, and programs complete objects.

A rule names what it needs (Rule.needs), and a finding may name it more precisely (ObjectFinding.needs):

    names of KIND     the names of all objects of a kind. A name that is near a known name is misspelt in any case.
    all objects       all objects of the cluster, for what nothing refers to and for sums
    complete object   all fields of the object
    complete labels   all labels of the object and of its pods
    one cluster       the input has the objects of one cluster, and not variants of them

The input is the whole with `--complete`, in a folder that gpuc compiled, and in the output of `kubectl get -o yaml`.
"""

import os
import re
from functools import cached_property

from msgspec import Struct, field

from gpuc.cluster.application import ARGO, Source, application_in, sync_options
from gpuc.kubernetes.api_groups import KARPENTER, KARPENTER_AWS
from gpuc.kubernetes.kueue import GROUP
from gpuc.lint.load.kustomize import adds_labels, has_patches
from gpuc.lint.load.loaded_files import LoadedFiles
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group

NAMES = "names of "
ALL_OBJECTS = "all objects"
COMPLETE_OBJECT = "complete object"
COMPLETE_LABELS = "complete labels"
ONE_CLUSTER = "one cluster"
_LOCK = "gpuc.lock"
"""The file that a compile writes in the folder of a cluster."""
_SERVER_SIDE = "ServerSideApply=true"
_FLUX_MERGE = "kustomize.toolkit.fluxcd.io/ssa"
"""The annotation of Flux for objects of others, whose fields it merges. Source: fluxcd/kustomize-controller v1.7, README"""
_NAME = re.compile(r"""^[ \t]*(?:- )?["']?name["']?:[ \t]*["']?([\w.-]+)""", re.MULTILINE)
"""The names in the text of a template."""
_HINT = "which may be a part of a cluster; --complete says that it is the whole"


class Knowledge(Struct, dict=True):
    """What the files below one path prove."""

    objects: ObjectSet
    files: LoadedFiles
    root: str
    """The path of the user."""
    is_complete: bool
    """Whether the user says that the input has all objects of a cluster."""
    _compiled: dict[str, bool] = field(default_factory=dict)
    """Whether gpuc compiled a folder, by path."""

    def not_judged(self, finding: ObjectFinding) -> str:
        """Returns what is not judged and the reason, if the input does not prove a finding; otherwise nothing."""
        needs = finding.rule.needs if finding.needs is None else finding.needs
        reasons = (self._unmet(need, finding) for need in needs.split(", ") if need)
        return next(filter(None, reasons), "")

    def _unmet(self, need: str, finding: ObjectFinding) -> str:
        manifest = finding.manifest
        if need in (COMPLETE_OBJECT, COMPLETE_LABELS):
            return self._completed(manifest, need)
        if need.startswith(NAMES):
            name = dig(manifest.document(), *finding.path)
            if isinstance(name, str) and name in self._names_in_templates:
                return f"{need}, which templates of the input have; render the templates and lint the output"
        if self.is_whole(manifest) or (need.startswith(NAMES) and finding.fix):
            return ""
        if need == ONE_CLUSTER:
            twice = self._variant
            return f"how queues and nodes of the input act together, because {twice} is in it twice" if twice else ""
        if need == ALL_OBJECTS:
            return f"{finding.rule.id}, which needs all objects of the cluster, not the input, {_HINT}"
        return f"{need} that are not in the input, {_HINT}"

    def is_whole(self, manifest: Manifest) -> bool:
        """Returns whether the input has all objects to which an object can refer."""
        is_live = (manifest.file, *manifest.origin[:1]) in self.files.live
        return self.is_complete or is_live or self._is_compiled(manifest.file)

    def _is_compiled(self, file: str) -> bool:
        """Returns whether a file is in a compiled folder, and the input has all of this folder."""
        folder = os.path.dirname(file)
        if folder not in self._compiled:
            is_below = os.path.normpath(self.root) == "." or folder.startswith(os.path.normpath(self.root))
            has_lock = is_below and os.path.exists(os.path.join(folder, _LOCK))
            self._compiled[folder] = has_lock or (is_below and folder != os.path.dirname(folder) and self._is_compiled(folder))
        return self._compiled[folder]

    def _completed(self, manifest: Manifest, need: str) -> str:
        """Returns which fields or labels of an object another program adds; an empty string for a complete object."""
        if has_patches(self.files.kustomizations):
            return "missing fields that Kustomize patches may add; lint the output of `kubectl kustomize`"
        if need == COMPLETE_LABELS and adds_labels(self.files.kustomizations):
            return "labels that Kustomizations add; lint the output of `kubectl kustomize`"
        if not self.is_whole(manifest) and self._is_merged(manifest):
            return "missing fields of objects that server-side apply merges with the objects of other programs"
        return ""

    def _is_merged(self, manifest: Manifest) -> bool:
        options = sync_options(manifest)
        if "ServerSideApply=false" in options:
            return False
        is_annotated = _SERVER_SIDE in options or manifest.annotations.get(_FLUX_MERGE) == "Merge"
        return is_annotated or any(source.syncs(manifest.file) for source in self._server_side)

    @cached_property
    def _server_side(self) -> list[Source]:
        """The sources of the Applications whose objects Argo CD merges on the server."""
        found = (application_in(row) for kind in ("Application", "ApplicationSet") for row in self.objects.of(ARGO, kind))
        return [
            source
            for application in found
            if _SERVER_SIDE in application.options
            for source in application.sources
        ]

    @cached_property
    def _names_in_templates(self) -> frozenset[str]:
        return frozenset(name for text in self.files.templates for name in _NAME.findall(text))

    @cached_property
    def _variant(self) -> str:
        """The first queue, flavor or node pool that two files of the input define differently; otherwise empty."""
        first: dict[tuple[str, str, str], Manifest] = {}
        for manifest in (row for row in self.objects.manifests if group(row) in (GROUP, KARPENTER, KARPENTER_AWS)):
            other = first.setdefault((manifest.kind, manifest.namespace, manifest.name), manifest)
            if other.body != manifest.body and other.file != manifest.file:
                return str(manifest)
        return ""
