"""Changes that Kueue's webhooks refuse: changes of two objects with a queue."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gpuc.admission.validation.kueue_changes import refused_by_kueue
from gpuc.manifest.manifest import manifest_of
from gpuc.parts.workload_kinds import workload_kind
from gpuc.plan.change import Change, Pair
from gpuc.plan.planner import plan_cluster
from gpuc.plan.state import manifest_state
from tests.lanes import drawn
from tests.plan.test_manifest_sets import WRONG
from tests.tables import table
from tests.values import changed, paths

ROWS = table(__file__, "kueue_changes.yaml")["rows"]
WHEN = {"": "always", "while a pod is ready": "ready", "while it is not suspended": "running"}


def document(row: dict[str, Any], side: str) -> dict[str, Any]:
    api, _, kind = row["kind"].rpartition("/")
    metadata = {"name": "chat", "namespace": "serving", **row[side].get("metadata", {})}
    return {"apiVersion": api, "kind": kind, **row[side], "metadata": metadata}


def pair(row: dict[str, Any]) -> Pair:
    return Pair(*(manifest_of(document(row, side)) for side in ("before", "after")))


def refused(changes: Pair) -> dict[str, str]:
    api, kind = changes.manifest.api, changes.manifest.kind
    found = refused_by_kueue(workload_kind(api.rpartition("/")[0], kind), changes)
    return {str(row.path[-1]).removeprefix("kueue.x-k8s.io/"): WHEN[row.when] for row in found}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["kind"])
def test_only_these_fields_cannot_change(row: dict[str, Any]) -> None:
    assert refused(pair(row)) == row.get("refused", {})


CONFIGURATION = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [batch/job]}
"""
CONFIG_MAP = {
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kueue-manager-config", "namespace": "kueue-system"},
    "data": {"controller_manager_config.yaml": CONFIGURATION},
}  # fmt: skip


def messages(folder: Path, row: dict[str, Any], *others: Any) -> list[tuple[str, str, tuple[str, ...]]]:
    states = []
    for side in ("before", "after"):
        file = folder / f"{side}.yaml"
        file.write_text(yaml.safe_dump_all([document(row, side), *others]), encoding="utf-8")
        states.append(manifest_state(str(file))[0])
    plan = plan_cluster(Change(states[0], states[1]))
    return [(impact.id, impact.message, impact.details) for impact in plan.impacts if impact.id == "IMP501"]


def test_the_impact_names_all_reasons(tmp_path: Path) -> None:
    ((_, message, details),) = messages(tmp_path, ROWS[0])
    assert (
        message == "the webhook of Kueue refuses the change: the label kueue.x-k8s.io/priority-class cannot be removed"
    )
    assert details[1] == "while a pod is ready, the label kueue.x-k8s.io/queue-name cannot be changed"


def test_a_change_that_is_refused_while_pods_run_predicts_nothing(tmp_path: Path) -> None:
    ((_, message, _),) = messages(tmp_path, ROWS[2])
    assert message.startswith("the webhook of Kueue refuses the change while a pod is ready: the label")


def test_kueue_refuses_no_change_of_a_kind_that_it_does_not_manage(tmp_path: Path) -> None:
    assert messages(tmp_path, ROWS[0], CONFIG_MAP) == []


EDITS = [(index, side, path, value) for index, row in enumerate(ROWS) for side in ("before", "after")
         for path in paths(row[side]) for value in WRONG]  # fmt: skip


@drawn(200)
@given(edit=st.sampled_from(EDITS))
def test_wrong_values_cause_no_internal_error(edit: Any) -> None:
    index, side, path, value = edit
    valid = pair(ROWS[index])
    manifest = valid.before if side == "before" else valid.after
    assert manifest is not None
    body = changed({**manifest.body, "metadata": ROWS[index][side].get("metadata", {})}, path, value)
    metadata = body.pop("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else {}
    wrong = replace(manifest, body=body, labels=labels if isinstance(labels, dict) else {})
    for sides in ((wrong, valid.after), (valid.before, wrong)):
        assert isinstance(refused(Pair(*sides)), dict)
