"""Finds PersistentVolumeClaims that only one node can mount, although the pods of a workload run on several nodes."""

from gpuc.diagnostics.contract import Needs, When
from gpuc.diagnostics.finding import Severity
from gpuc.objects.object_finding import ObjectFinding
from gpuc.objects.object_set import dig, items
from gpuc.trace.workload import workload_of
from gpuc.verify import Findings, check
from gpuc.verify.subject import Subject

_ONE_NODE = {"ReadWriteOnce", "ReadWriteOncePod"}


@check("TRN201", severity=Severity.WARNING, needs=Needs.OBJECTS, when=When.BOTH)
def claim_of_one_node(subject: Subject) -> Findings:
    """Several pods of a workload write to a PersistentVolumeClaim that only one node can mount."""
    objects = subject.objects
    claims = {(claim.namespace, claim.name): claim for claim in objects.of("", "PersistentVolumeClaim")}
    claims = {key: claim for key, claim in claims.items() if _modes(claim.body) and _modes(claim.body) <= _ONE_NODE}
    for manifest in objects.manifests if claims else ():
        workload = workload_of(manifest, objects=objects)
        for pods in workload.pod_sets if workload else ():
            for index, volume in items(dig(pods.pod, "volumes")) if pods.count > 1 else ():
                name = str(dig(volume, "persistentVolumeClaim", "claimName"))
                if claim := claims.get((manifest.namespace, name)):
                    path = (*pods.path, "spec", "volumes", index) if pods.path else ("spec",)
                    modes = ", ".join(sorted(_modes(claim.body)))
                    message = f"{pods.count} pods mount {claim}, whose access mode is {modes}; expected ReadWriteMany"
                    yield ObjectFinding(claim_of_one_node.rule, manifest, path, message)


def _modes(claim: object) -> set[str]:
    return {str(mode) for _, mode in items(dig(claim, "spec", "accessModes"))}
