"""Functions for checks of the Training Operator that the table of checks, training_operator.rows, cannot express.

Source: kubeflow/training-operator v1.9.3 pkg/webhooks, pkg/common/util/webhooks.go
"""

from gpuc.admission.validation.field import Field, Problems, text
from gpuc.workloads.training_operator.kind import JOBS


def _replica_specs(document: Field) -> Problems:
    specs = document.at("spec", JOBS[document.get("kind")].replicas)
    if specs.value is None:
        yield specs.missing()


def _role_and_container(replica: Field) -> Problems:
    _, container, roles, *_ = JOBS[replica.root.get("kind")]
    if roles and replica.name not in roles:
        yield replica.problem(f"there is no role {replica.name}; expected {' or '.join(roles)}")
    containers = replica.at("template", "spec", "containers")
    names = [text(row.get("name")) for row in containers.rows()]
    if container not in names:
        fix = f"write name: {container}" if len(names) == 1 else ""
        yield containers.problem(f"one container must have the name {container}", fix)
