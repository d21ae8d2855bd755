"""Decides whether the input of `gpuc lint` proves a finding. The input may be only a part of a cluster.

Each rule names what it needs to know (Rule.needs). A finding may replace these needs (ObjectFinding.needs):

    names of KIND     the names of all objects of a kind; not needed for a name that is similar to a known name
    labels of KIND    the labels of all objects of a kind; not needed for a label that is similar to a known label
    all objects       all objects of the cluster, for example to show that no object refers to another object
    complete object   all fields of the object
    complete template all fields of the pod template of the object
    complete pods     all fields of the pods that a controller makes of the object
    complete labels   all labels of the object and of its pods
    as written        the objects with the name as in their files: no Kustomization builds them
    one cluster       the queues and nodes of one cluster, not of several variants of a cluster
    own project       an AppProject inherits no permissions (globalProjects of the ConfigMap argocd-cm)

gpuc does not judge a finding in two further cases: files of the input define an object in its message differently; or
an object in its message has no namespace and comes from another folder, or from one of several overlays.

The input has all objects of a cluster with the option `--complete`, in a folder that gpuc compiled, and in the output
of `kubectl get -o yaml`.
"""

import os
import re
from functools import cached_property

from msgspec import Struct, field

from gpuc.cluster.application import ARGO, Source, application_in, sync_options
from gpuc.documents.source_map import SourceMap
from gpuc.kubernetes.api_groups import KARPENTER, KARPENTER_AWS
from gpuc.kubernetes.kueue import GROUP
from gpuc.lint.load.kustomize import LISTS_OF_LABELS, LISTS_THAT_CHANGE, builders, reached, roots
from gpuc.lint.load.loaded_files import LoadedFiles, identity
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group, grouped
from gpuc.objects.pods import pods_of

NAMED = ("names of ", "labels of ")
ALL_OBJECTS = "all objects"
COMPLETE_OBJECT = "complete object"
COMPLETE_LABELS = "complete labels"
COMPLETE_PODS = "complete pods"
AS_WRITTEN = "as written"
ONE_CLUSTER = "one cluster"
OWN_PROJECT = "own project"
_SERVER_SIDE = "ServerSideApply=true"
_FLUX_MERGE = "kustomize.toolkit.fluxcd.io/ssa"
"""The annotation with which Flux merges fields into an object of others.

Source: fluxcd/kustomize-controller docs/spec/v1/kustomizations.md
"""
_NAME = re.compile(r"""^[ \t]*(?:- )?["']?name["']?:[ \t]*["']?([\w.-]+)""", re.MULTILINE)
"""The names in the text of a template."""
_OBJECT = re.compile(r"\b[A-Z][A-Za-z]+ [\w.-]+(?:/[\w.-]+)?")
"""The objects that a message names, such as Service team/api."""
_WORD = re.compile(r"(yes|no|on|off)\b", re.IGNORECASE)
"""The words that YAML 1.1 reads as booleans, and Kustomize as strings."""
_HINT = "--complete says that the input is the whole cluster"


class Knowledge(Struct, dict=True):
    """The input from one argument of `gpuc lint`, a file or a folder. Decides whether the input proves a finding.

    The input proves a finding if it contains everything that the rule of the finding needs to know. For example, a rule
    that finds references to missing ResourceFlavors needs the names of all ResourceFlavors of the cluster.
    """

    objects: ObjectSet
    files: LoadedFiles
    source_map: SourceMap
    root: str
    """The argument of `gpuc lint`: the path of the file or folder."""
    is_complete: bool
    """Whether the user says that the input has all objects of a cluster."""
    _compiled: dict[str, bool] = field(default_factory=dict)
    """Whether gpuc compiled a folder, by path."""

    def not_judged(self, finding: ObjectFinding) -> str:
        """Returns what gpuc cannot judge about a finding, and why. Returns "" if the input proves the finding."""
        needs = finding.rule.needs if finding.needs is None else finding.needs
        reasons = (self._unmet(need, finding) for need in needs.split(", ") if need)
        found = next(filter(None, reasons), "") or self._named_twice(finding) or self._named_elsewhere(finding)
        return found or self._changed_by_kustomize(finding)

    def _changed_by_kustomize(self, finding: ObjectFinding) -> str:
        """Returns that Kustomize can change a value, with the reason; otherwise nothing.

        The value is a word, an annotation (but no label, and not in a pod template), or a blank.

        Source: kubernetes-sigs/kustomize kyaml/yaml/rnode.go (GetAnnotations, setMapInMetadata)
        """
        manifest, path = finding.manifest, finding.path
        file, value = os.path.abspath(manifest.file), dig(manifest.document(), *path)
        if finding.on_key or file not in self._builders:
            return ""
        if value in ({}, [], "") and file in self._patched:
            return "empty values that Kustomize patches may replace; lint the output of `kubectl kustomize`"
        is_text = "string" in finding.message and isinstance(value, bool | int | float)
        mark = self.source_map.mark(manifest.file, (*manifest.origin, *path)) if is_text else None
        is_word = mark and _WORD.match(self.source_map.line(mark) or "", mark.column - 1)
        if is_word or (is_text and path[:2] == ("metadata", "annotations")):
            return "values that Kustomize writes as strings; lint the output of `kubectl kustomize`"
        return ""

    def _named_twice(self, finding: ObjectFinding) -> str:
        """Returns that a finding depends on an object which files of the input define differently; otherwise empty."""
        if self.is_complete or not self._variants:
            return ""
        for name in self._variants.keys() & set(_OBJECT.findall(finding.message)):
            namespaces = {row.namespace for row in self._variants[name]}
            if "/" in name or not namespaces.isdisjoint(("", finding.manifest.namespace)):
                return f"what depends on {name}, which files of the input define differently"
        return ""

    def _named_elsewhere(self, finding: ObjectFinding) -> str:
        """Returns that a finding depends on an object that may never be beside its own object; otherwise empty."""
        manifest = finding.manifest
        if self.is_whole(manifest):
            return ""
        for name in _OBJECT.findall(finding.message):
            others = self._beside_pods.get(name, ())
            if others and not any(self._are_together(manifest, other) for other in others):
                return f"what depends on a {name.partition(' ')[0]} of another folder, which may be for something else"
        return ""

    def _are_together(self, one: Manifest, other: Manifest) -> bool:
        """Returns whether two objects get the same namespace of the same cluster, as far as the files show this."""
        if (one.namespace and one.namespace == other.namespace) or one.file == other.file:
            return True
        mine, others = (roots(os.path.abspath(row.file), self._builders) for row in (one, other))
        if mine and others:
            return mine <= others
        inner, outer = (f"{os.path.dirname(os.path.abspath(row.file))}{os.sep}" for row in (one, other))
        return inner.startswith(outer) or outer.startswith(inner)

    @cached_property
    def _beside_pods(self) -> dict[str, list[Manifest]]:
        """The objects that pods refer to in their own namespace, by "KIND NAME"."""
        return grouped(
            (row for kind in ("ConfigMap", "Secret", "Service") for row in self.objects.of("", kind)),
            lambda row: f"{row.kind} {row.name}",
        )

    @cached_property
    def _builders(self) -> dict[str, set[str]]:
        return builders(self.files.kustomizations)

    def _inherited(self, manifest: Manifest) -> str:
        """Returns that the AppProjects of the input may inherit permissions, if the input does not exclude it.

        A project from which others inherit is a project that no Application uses.

        Source: argoproj/argo-cd v3.5.1 util/argo/argo.go (GetAppVirtualProject)
        """
        is_set = self.source_map.has("globalProjects")
        settings = any(row.name == "argocd-cm" for row in self.objects.of("", "ConfigMap"))
        if not is_set and not settings and not self.is_whole(manifest):
            kinds = ("Application", "ApplicationSet")
            found = (application_in(row) for kind in kinds for row in self.objects.of(ARGO, kind))
            used = {"default", *(application.project for application in found)}
            is_set = any(row.name not in used for row in self.objects.of(ARGO, "AppProject"))
        return "the permissions of AppProjects that may inherit others through globalProjects" if is_set else ""

    def _unmet(self, need: str, finding: ObjectFinding) -> str:
        manifest = finding.manifest
        if need.startswith("complete "):
            return self._completed(finding, need)
        if need in (OWN_PROJECT, AS_WRITTEN):
            return self._inherited(manifest) if need == OWN_PROJECT else self._is_built(manifest)
        if need.startswith(NAMED):
            name = dig(manifest.document(), *finding.path)
            if isinstance(name, str) and name in self._names_in_templates:
                return f"{need}, which templates of the input have; render the templates and lint the output"
        if need == ONE_CLUSTER:
            twice = "" if self.is_complete else self._variant
            return f"how queues and nodes of the input act together, because {twice} is in it twice" if twice else ""
        if self.is_whole(manifest) or (need.startswith(NAMED) and finding.fix):
            return ""
        if need == ALL_OBJECTS:
            return f"{finding.rule.id}, which needs all objects of the cluster; {_HINT}"
        return f"{need} that the input lacks and the cluster may have; {_HINT}"

    def _is_built(self, manifest: Manifest) -> str:
        named = (row for row in self.objects.manifests if (row.kind, row.name) == (manifest.kind, manifest.name))
        files = {os.path.abspath(row.file) for row in named}
        is_built = not self._built.isdisjoint(files | set(map(os.path.dirname, files)))
        return "objects that Kustomizations build; lint the output of `kubectl kustomize`" if is_built else ""

    def is_whole(self, manifest: Manifest) -> bool:
        """Returns whether the input contains every object to which the given object can refer."""
        is_live = (manifest.file, *manifest.origin[:1]) in self.files.live
        return self.is_complete or is_live or self._is_compiled(manifest.file)

    def _is_compiled(self, file: str) -> bool:
        """Returns whether a file is in a compiled folder, and the input has all of this folder."""
        from gpuc.write.lockfile import LOCKFILE  # imported here, because few inputs have a finding that needs it

        folder = os.path.dirname(file)
        if folder not in self._compiled:
            is_below = os.path.normpath(self.root) == "." or folder.startswith(os.path.normpath(self.root))
            is_in_compiled = folder != os.path.dirname(folder) and self._is_compiled(folder)
            self._compiled[folder] = is_below and (is_in_compiled or os.path.exists(os.path.join(folder, LOCKFILE)))
        return self._compiled[folder]

    def _completed(self, finding: ObjectFinding, need: str) -> str:
        """Returns what another program or person adds to an object; an empty string for a complete object."""
        manifest = finding.manifest
        file = os.path.abspath(manifest.file)
        is_of_others = need in (COMPLETE_LABELS, COMPLETE_PODS) and not any(pods_of(manifest))
        if (
            file in self._patched
            or (is_of_others and self._patched)
            or any(path in f"/{manifest.file}" for path in self._patched_by_flux)
        ):
            return "missing fields that Kustomize patches may add; lint the output of `kubectl kustomize`"
        is_label = need == COMPLETE_LABELS or "selector" in finding.path
        is_namespace = finding.path[-1:] == ("namespace",) and not self._built.isdisjoint((file, os.path.dirname(file)))
        if is_namespace or (is_label and (file in self._labelled or (is_of_others and self._labelled))):
            added = "namespaces" if is_namespace else "labels"
            return f"{added} that Kustomizations add; lint the output of `kubectl kustomize`"
        if self.is_whole(manifest):
            return ""
        if need == COMPLETE_PODS and _has_operator(manifest) and not finding.fix:
            return f"volumes and ports of the pods of {manifest.kind}, to which its controller may add more"
        if self._is_merged(manifest):
            return "missing fields of objects that server-side apply merges with the objects of other programs"
        *above, key = finding.path or ("",)
        is_in_file = isinstance(manifest.origin[0], int)
        written = self.source_map.value(manifest.file, (*manifest.origin, *above)) if is_in_file else None
        is_blank = isinstance(written, dict) and key in written  # also with a null, which an object does not have
        if need == COMPLETE_OBJECT and (is_blank or "template" in os.path.basename(manifest.file)):
            return "missing fields of templates and fields without a value, which people or programs fill in"
        return ""

    def _is_merged(self, manifest: Manifest) -> bool:
        options = sync_options(manifest)
        if "ServerSideApply=false" in options:
            return False
        is_annotated = _SERVER_SIDE in options or str(manifest.annotations.get(_FLUX_MERGE)).lower() == "merge"
        return is_annotated or any(source.syncs(manifest.file) for source in self._server_side)

    @cached_property
    def _server_side(self) -> list[Source]:
        """The sources of the Applications whose objects Argo CD merges on the server."""
        found = (
            application_in(row) for kind in ("Application", "ApplicationSet") for row in self.objects.of(ARGO, kind)
        )
        return [
            source for application in found if _SERVER_SIDE in application.options for source in application.sources
        ]

    @cached_property
    def _patched_by_flux(self) -> list[str]:
        """The folders whose objects a Kustomization of Flux patches, between slashes."""
        specs = [row.body.get("spec") for row in self.objects.of("kustomize.toolkit.fluxcd.io", "Kustomization")]
        patched = [spec for spec in specs if dig(spec, "patches") or dig(spec, "components")]
        return [f"/{path.strip('./')}/" for spec in patched if isinstance(path := dig(spec, "path"), str)]

    @cached_property
    def _patched(self) -> set[str]:
        return reached(self.files.kustomizations, LISTS_THAT_CHANGE) | self.files.partial

    @cached_property
    def _labelled(self) -> set[str]:
        return reached(self.files.kustomizations, LISTS_OF_LABELS)

    @cached_property
    def _built(self) -> set[str]:
        """What Kustomizations build, and their folders. The subjects of a binding get a namespace too.

        Source: kubernetes-sigs/kustomize api/filters/namespace/namespace.go (roleBindingHack), namereference.go
        """
        return set(self._builders).union(*self._builders.values())

    @cached_property
    def _names_in_templates(self) -> frozenset[str]:
        return frozenset(name for text in self.files.templates for name in _NAME.findall(text))

    @cached_property
    def _variants(self) -> dict[str, list[Manifest]]:
        """The objects that two files of the input define differently, by "KIND NAME" and "KIND NAMESPACE/NAME"."""
        first: dict[tuple[str, ...], Manifest] = {}
        found: dict[str, list[Manifest]] = {}
        for manifest in self.objects.manifests:
            other = first.setdefault(identity(manifest), manifest)
            differ = (other.body, other.labels) != (manifest.body, manifest.labels)
            if other is not manifest and other.file != manifest.file and differ:
                for name in {str(other), f"{other.kind} {other.name}"}:
                    found.setdefault(name, []).append(other)
        return found

    @cached_property
    def _variant(self) -> str:
        """The first queue, flavor or node pool that two files of the input define differently; otherwise empty."""
        every = (row for rows in self._variants.values() for row in rows)
        return next((str(row) for row in every if group(row) in (GROUP, KARPENTER, KARPENTER_AWS)), "")


def _has_operator(manifest: Manifest) -> bool:
    """Returns whether an operator, and not Kubernetes or a SIG of it, makes the pods of an object."""
    api_group = group(manifest)
    return "." in api_group and not api_group.endswith("k8s.io") and any(pods_of(manifest))
