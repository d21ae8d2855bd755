"""Checks of Ray kinds that are more than a row of a table.

Source: ray-project/kuberay v1.6.2 ray-operator/apis/ray/v1; kubernetes-sigs/kueue v0.19.2 pkg/controller/jobs/ray*
"""

from gpuc.admission.validation.field import Field, Problems, number
from gpuc.admission.validation.kueue import ANNOTATIONS, ELASTIC

_POD_SETS_MAX = 18


def _deletion_strategy(strategy: Field) -> Problems:
    old = [strategy.get(name) is not None for name in ("onSuccess", "onFailure")]
    has_rules = strategy.get("deletionRules") is not None
    if (any(old) and has_rules) or not (all(old) or has_rules):
        yield strategy.problem("expected either onSuccess and onFailure, or deletionRules")


def _autoscaling(field: Field) -> Problems:
    if field.value is True and field.root.get(*ANNOTATIONS, ELASTIC) != "true":
        yield field.problem(f'Kueue allows autoscaling only with the annotation {ELASTIC}: "true"')


def _replicas_of_group(group: Field) -> Problems:
    least, most = number(group.get("minReplicas")), number(group.get("maxReplicas"))
    if least is not None and most is not None and least > most:
        yield group.at("minReplicas").invalid(f"at most maxReplicas, which is {most}")


def _number_of_groups(field: Field) -> Problems:
    count = len(list(field.rows()))
    if count + 1 > _POD_SETS_MAX:
        yield field.problem(f"{count} groups; Kueue allows at most {_POD_SETS_MAX - 1}")
