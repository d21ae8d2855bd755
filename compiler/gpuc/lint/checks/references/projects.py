from collections.abc import Iterable

from gpuc.cluster.application import Application, Destination
from gpuc.cluster.index import Index
from gpuc.cluster.project import KindName, Project, project_of
from gpuc.diagnostics.finding import Path
from gpuc.kubernetes.api_groups import CONSTRAINTS, TEMPLATES
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, group
from gpuc.objects.symbol_table import CLUSTER_SCOPED

NOT_PERMITTED = rule_of("REF012")
KIND_NOT_PERMITTED = rule_of("REF013")


@check(NOT_PERMITTED, KIND_NOT_PERMITTED)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about Applications, and objects in their folders, that their AppProject does not permit."""
    index = objects.once(Index)
    for application in index.delivery.applications:
        project, destination = project_of(index.tree, application), application.destination
        if project is None:
            continue
        if (name := destination.namespace) and not _may_permit(project, destination):
            message = f"AppProject {project.name} does not permit namespace {name} on the server of this destination"
            yield ObjectFinding(NOT_PERMITTED, application.manifest, ("spec", "destination", "namespace"), message)
        yield from _namespaces(application, project, index)
        for source in application.sources:
            if source.url and not project.permits_repository(source.url):
                permitted = ", ".join(project.repositories) or "none"
                message = f"AppProject {project.name} does not permit the repository {source.url}; sourceRepos has "
                yield ObjectFinding(NOT_PERMITTED, source.application, (*source.path, "repoURL"), message + permitted)
            folders = index.delivery.synced_folders(source)
            manifests = (manifest for folder in folders for manifest in index.delivery.objects[folder])
            yield from _objects(manifests, application, project)


def _namespaces(application: Application, project: Project, index: Index) -> Findings:
    """Yields findings about the namespace of an Application, and about one that Argo CD should create for it.

    Source: argo-cd v3.5.1 pkg/apis/application/v1alpha1/app_project_types.go (IsAppNamespacePermitted);
    gitops-engine/pkg/sync/sync_context.go (getSyncTasks): the created Namespace is a resource like any other
    """
    own, subject = application.manifest, f"AppProject {project.name} does not permit"
    if not project.permits_application(own.namespace):
        message = f"{subject} Applications of namespace {own.namespace}; sourceNamespaces does not list it"
        yield ObjectFinding(NOT_PERMITTED, own, ("metadata", "namespace"), message)
    created = application.created_namespace
    is_missing = created and index.tree.find("", "Namespace", created) is None
    if is_missing and not project.permits_kind(KindName("", "Namespace", created), namespaced=False):
        message = f"{subject} the kind Namespace, so that CreateNamespace=true fails the sync"
        path: Path = ("spec", "syncPolicy", "syncOptions")
        yield ObjectFinding(NOT_PERMITTED, own, path, message, needs="all objects")


def _objects(manifests: Iterable[Manifest], application: Application, project: Project) -> Findings:
    """Yields findings about objects of a source that the project does not permit: one for every kind and namespace."""
    reported: set[tuple[str, str]] = set()
    checked: set[tuple[KindName, str]] = set()
    subject = f"AppProject {project.name} of Application {application.name} does not permit"
    for manifest in manifests:
        namespace = manifest.namespace
        kind = KindName(group(manifest), manifest.kind, "*" if namespace else manifest.name)
        if (kind, namespace) in checked:
            continue
        checked.add((kind, namespace))
        if not _permits_kind(project, kind, namespace) and kind[:2] not in reported:
            reported.add(kind[:2])
            yield ObjectFinding(KIND_NOT_PERMITTED, manifest, ("kind",), f"{subject} the kind {manifest.kind}")
        elif namespace and not _may_permit(project, application.destination._replace(namespace=namespace)):
            yield ObjectFinding(KIND_NOT_PERMITTED, manifest, ("metadata", "namespace"), f"{subject} this namespace")


def _may_permit(project: Project, destination: Destination) -> bool:
    """Returns whether a project permits a destination. Only Argo CD knows the server of another cluster by its name.

    Source: argoproj/argo-cd v3.5.1 pkg/apis/application/v1alpha1/app_project_types.go (IsDestinationPermitted)
    """
    servers = [] if destination.server or destination.is_own else [row.server for row in project.destinations]
    known = [destination, *(destination._replace(server=server) for server in servers if server)]
    return any(map(project.permits_destination, known))


def _permits_kind(project: Project, kind: KindName, namespace: str) -> bool:
    """Returns whether a project permits a kind. An object without a namespace may get the Application's namespace."""
    is_of_cluster = kind[:2] in CLUSTER_SCOPED or kind[0] in (CONSTRAINTS, TEMPLATES) or kind[1].startswith("Cluster")
    scopes = (True,) if namespace else (False,) if is_of_cluster else (True, False)
    return any(project.permits_kind(kind, namespaced=namespaced) for namespaced in scopes)
