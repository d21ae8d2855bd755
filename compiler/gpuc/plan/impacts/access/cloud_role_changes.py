from gpuc.plan.change import Change
from gpuc.plan.impact import Impacts, Level, Raised, impact

_ANNOTATION = "gpuc.dev/iam-role"


@impact("IMP453", Level.RESTRICTS, source="Amazon EKS User Guide, EKS Pod Identity: an association is not part of Git")
def cloud_role_changes(change: Change) -> Impacts:
    """A service account of a tenant gets, changes or loses its IAM role.

    EKS Pod Identity knows the role by an association, which an administrator creates with the commands in
    clusters/CLUSTER/README.md. Until then, pods have no role or the old one. Running pods keep their credentials until
    these expire.
    """
    for pair in change.pairs("", "ServiceAccount"):
        before, after = pair.values("metadata", "annotations", _ANNOTATION)
        if before == after:
            continue
        subject = f"service account {pair.manifest.namespace}/{pair.name}"
        if after is None:
            message = f"loses IAM role {before}; delete the association"
        elif before is None:
            message = f"gets IAM role {after}; create the association"
        else:
            message = f"has IAM role {after} instead of {before}; update the association"
        details = ("clusters/CLUSTER/README.md has the commands",)
        yield Raised(subject, message, pair.manifest, ("metadata", "annotations", _ANNOTATION), details)
