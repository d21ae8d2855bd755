from gpuc.objects.object_set import pairs as object_pairs
from gpuc.plan.change import Change, grouped
from gpuc.plan.impact import Impacts, Level, Raised, impact

_PREFIX = "nccl-"


@impact("IMP259", Level.NONE, source="kubernetes v1.35.4 pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables")
def nccl_environment_changes(change: Change) -> Impacts:
    """The NCCL variables of a profile change.

    Containers read the variables when they start. If one pod of a running job starts again, its variables differ from
    those of the other pods.
    """
    changed = [pair for pair in change.pairs("", "ConfigMap") if pair.name.startswith(_PREFIX) and pair.changes("data")]
    for name, pairs in grouped(changed, lambda pair: pair.name).items():
        before, after = (dict(object_pairs(data)) for data in pairs[0].values("data"))
        variables = [variable for variable in {**after, **before} if before.get(variable) != after.get(variable)]
        if not variables:
            continue
        texts = [_text(variable, before.get(variable), after.get(variable)) for variable in variables]
        message = f"containers that start get {', '.join(texts)}"
        path = next((field.path for field in pairs[0].fields if field.is_below("data")), ())
        details = ("if one pod of a running job starts again, its variables differ from those of the other pods",)
        yield Raised(f"NCCL profile {name.removeprefix(_PREFIX)}", message, pairs[0].after, path, details)


def _text(name: str, before: object, after: object) -> str:
    if after is None:
        return f"no {name} (before {before})"
    return f"{name}={after}" if before is None else f"{name}={after} instead of {before}"
