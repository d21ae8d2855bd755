from gpuc.cluster.index import Index
from gpuc.cluster.namespace import ALWAYS
from gpuc.cluster.queue import from_objects, parent
from gpuc.diagnostics.finding import Path
from gpuc.diagnostics.spelling import missing, misspelt, write
from gpuc.kubernetes.kueue import GROUP
from gpuc.lint.checks import Findings, check, rule_of
from gpuc.manifest.manifest import Manifest
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import ObjectSet, dig, group
from gpuc.verify.references.reference import NOT_IN_THESE_FILES, is_name

NO_NAMESPACE = rule_of("REF040")
_DELIVERY = ("argoproj.io", "toolkit.fluxcd.io")
NO_SUBDOMAIN = rule_of("REF033")
MISSPELT_COHORT = rule_of("REF011")


@check(NO_NAMESPACE, NO_SUBDOMAIN, MISSPELT_COHORT)
def findings(objects: ObjectSet) -> Findings:
    """Yields findings about missing namespaces, subdomains of pods without a Service, and misspelt cohorts."""
    index = objects.once(Index)
    yield from _namespaces(index)
    yield from _subdomains(index)
    yield from _cohorts(index)


def _namespaces(index: Index) -> Findings:
    """Yields findings about objects in a namespace that neither an object nor an Application creates.

    Partial input is checked only if it has Namespace objects. The finding is at the first object of the namespace.
    """
    known, is_complete = index.namespaces, index.tree.is_complete
    if not (is_complete or known.has_objects):
        return
    argo = {project.namespace for project in index.tree.of("argoproj.io", "AppProject")}
    reported: set[str] = set()
    for manifest in index.tree.manifests:
        name = manifest.namespace
        if not is_name(name) or name in known.named or name in reported:
            continue
        if group(manifest).endswith(_DELIVERY) and (not is_complete or name in argo):
            continue  # the namespace of Argo CD or Flux exists before Argo CD or Flux delivers objects
        reported.add(name)
        suggestion = misspelt(name, known.named)
        rule = NO_NAMESPACE if is_complete or suggestion else NOT_IN_THESE_FILES
        message = missing("the namespace", name, known.named - ALWAYS, suggestion)
        fix, needs = write(suggestion), NO_NAMESPACE.needs
        yield ObjectFinding(rule, manifest, ("metadata", "namespace"), message, fix, needs=needs)


def _subdomains(index: Index) -> Findings:
    """Yields findings about pods whose subdomain is not the name of a Service in their namespace."""
    kind, is_complete = ("", "Service"), index.tree.is_complete
    for pods in index.pods:
        name, namespace = dig(pods.spec, "subdomain"), pods.manifest.namespace
        if not is_name(name) or pods.record.traits.has_service:
            continue
        services = index.symbols.names_in(kind, namespace)
        if not index.symbols.has(kind, name, namespace) and (is_complete or services):
            suggestion = misspelt(name, services)
            rule = NO_SUBDOMAIN if is_complete or suggestion else NOT_IN_THESE_FILES
            message = (
                f"{missing('the Service', name, services, suggestion)}, so the DNS names of these pods do not resolve"
            )
            fix, needs = write(suggestion), NO_SUBDOMAIN.needs
            yield ObjectFinding(rule, pods.manifest, (*pods.path, "spec", "subdomain"), message, fix, needs=needs)


def _cohorts(index: Index) -> Findings:
    """Yields findings about cohorts with one member and no Cohort object, if another cohort has a similar name.

    The other cohort must have a Cohort object, or more than one member.
    """
    members: dict[str, list[tuple[Manifest, Path]]] = {}
    for member in from_objects(index.tree).members:
        if member.parent_name and member.manifest:
            members.setdefault(member.parent_name, []).append((member.manifest, ("spec", parent(member.manifest)[0])))
    objects = {cohort.name for cohort in index.tree.of(GROUP, "Cohort")}
    for name, uses in members.items():
        suggestion = misspelt(name, {*members, *objects}) if len(uses) == 1 and name not in objects else ""
        if suggestion in objects or len(members.get(suggestion, ())) > 1:
            message = missing("the Cohort", name, (), suggestion)
            yield ObjectFinding(MISSPELT_COHORT, *uses[0], message, write(suggestion))
