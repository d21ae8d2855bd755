from __future__ import annotations

from gpuc.verify import Findings, check
from gpuc.verify.references.reference import ANY_NAMESPACE, Reference
from gpuc.verify.subject import Subject


@check("REF009", source="Argo CD v3.5, docs/user-guide/projects.md")
def unknown_project(subject: Subject) -> Findings:
    """An Application names an AppProject that does not exist.

    Argo CD reports InvalidSpecError and does not sync the Application.
    """
    return subject.unresolved(unknown_project.rule)


ROWS = (
    Reference("argoproj.io/Application", "spec.project", "argoproj.io/AppProject", ANY_NAMESPACE),
    Reference("argoproj.io/ApplicationSet", "spec.template.spec.project", "argoproj.io/AppProject", ANY_NAMESPACE),
)
