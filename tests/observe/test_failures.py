"""Failures of whole clusters raise exactly the expected alerts, which reach exactly the expected receivers.

promtool computes the alerts from series with all rules of a store; the real Alertmanager gets these alerts, with the
configuration that the operator makes, for each matcher strategy.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from tests.alerts import promtool
from tests.alerts.case import Body, alert_body, alert_rules, promtool_file, rules
from tests.alerts.series import SOURCES, Gpu, series
from tests.conftest import HUB_CLUSTERS, example
from tests.observe.healthy import healthy
from tests.observe.notify_programs import alertmanager_programs, converted, converter, delivered, running
from tests.observe.test_dashboards import cluster_label
from tests.observe.test_notify import VERSION, WORKING, config, secrets
from tests.tables import table

TABLE = table(__file__, "failures.yaml")
FAILURES = [(store, name) for store, failures in TABLE.items() for name in failures]
GPU = re.compile(r"(?P<pool>[a-z0-9-]+)/(?P<number>\d) (?P<metric>\w+)(?P<labels>.*)")
pytestmark = pytest.mark.slow


def fired(store: str, name: str) -> list[tuple[Body, dict[str, Any]]]:
    """Returns the complete labels and annotations of the alerts of a failure, with their rows."""
    found = []
    for row in TABLE[store][name]["alerts"]:
        labels = {key: value for key, value in row.items() if key not in ("alert", "to", "silenced", "cluster")}
        body = alert_body(row.get("cluster", store.split(maxsplit=1)[0]), row["alert"], labels)
        found.append((body, row))
    return found


def all_series(store: str, name: str) -> dict[str, str]:
    """Returns the series of all clusters of a store."""
    failure, found = TABLE[store][name], {}
    for cluster in store.split():
        found |= healthy(example(cluster), cluster_label(cluster))
    for pattern, values in failure.get("change", {}).items():
        changed = [text for text in found if re.search(pattern, text)]
        assert changed, pattern
        found |= {text: values.replace("@", found[text].rpartition("x")[0]) for text in changed}
    return found | {one_series(words): values for words, values in failure.get("more", {}).items()}


def one_series(words: str) -> str:
    """Returns a series of a GPU of a pool, or of another source of cases.yaml."""
    if words.split(maxsplit=1)[0] in SOURCES:
        return series(words)
    gpu = GPU.fullmatch(words)
    assert gpu, words
    labels = dict(label.split("=", 1) for label in gpu["labels"].split())
    return Gpu(f"n-{gpu['pool']}", int(gpu["number"])).series(gpu["metric"], **labels)


def promtool_rows(store: str, name: str) -> Body:
    """Returns a test of promtool: for each alert of the store, what fires; for most of them nothing."""
    failure, alerts = TABLE[store][name], fired(store, name)
    names = sorted({rule["alert"] for cluster in store.split() for rule in alert_rules(cluster)})
    rows = [
        {
            "eval_time": failure.get("at", "90m"),
            "alertname": alert,
            "exp_alerts": [body for body, row in alerts if row["alert"] == alert],
        }
        for alert in names
    ]
    content = [{"series": text, "values": values} for text, values in all_series(store, name).items()]
    return {"name": name, "interval": "1m", "input_series": content, "alert_rule_test": rows}


def problem(
    folder: Path, store: str, names: Iterable[str], change: promtool.Change = promtool.unchanged, missing: str = ""
) -> str:
    """Returns what promtool finds if the clusters of a store have failures; empty if all alerts are as expected.

    Args:
        missing: the name of an alert that the test does not expect.
    """
    program = promtool.find_promtool()
    if program is None:
        pytest.skip(promtool.MISSING)
    files = [
        promtool.rule_file(folder, cluster, group, change).name for cluster in store.split() for group in rules(cluster)
    ]
    tests = [promtool_rows(store, name) for name in names]
    for row in tests[0]["alert_rule_test"]:
        row["exp_alerts"] = [] if row["alertname"] == missing else row["exp_alerts"]
    (folder / "test.yaml").write_text(yaml.safe_dump(promtool_file(files, tests), sort_keys=False, width=200))
    return promtool.run((str(program), "test", "rules", str(folder / "test.yaml")))


@pytest.mark.parametrize("store", TABLE)
def test_a_failure_raises_exactly_the_expected_alerts(tmp_path: Path, store: str) -> None:
    assert problem(tmp_path, store, TABLE[store]) == ""


def test_an_alert_that_is_not_expected_is_found(tmp_path: Path) -> None:
    failure = "S3: an EC2NodeClass is not ready"
    assert "GpucNodePoolNotReady" in problem(tmp_path, "prod-use1", [failure], missing="GpucNodePoolNotReady")


def test_without_the_label_of_the_cluster_an_alert_is_lost(tmp_path: Path) -> None:
    """S8: the metrics of production hide that those of staging are missing."""

    def changed(rule: Body) -> Body:
        is_changed = rule.get("alert") == "GpucMetricsMissing"
        return {**rule, "expr": re.sub(r'cluster="[^"]+",?', "", rule["expr"])} if is_changed else rule

    failure = "S8: Karpenter and the audit of staging are gone, those of production are not"
    assert "GpucMetricsMissing" in problem(tmp_path, " ".join(HUB_CLUSTERS), [failure], changed)


@pytest.mark.parametrize("strategy", ["OnNamespace", *WORKING])
@pytest.mark.parametrize("store", TABLE)
def test_the_alerts_of_a_failure_reach_exactly_the_expected_receivers(
    tmp_path: Path, store: str, strategy: str
) -> None:
    """All clusters of the store notify through one Alertmanager. Silenced alerts reach their receiver, if it were not
    for the other alert."""
    server, _ = alertmanager_programs()
    configs = [config(cluster) for cluster in store.split()]
    keys = {item["metadata"]["name"]: item for notify in configs for item in secrets(notify)}
    text = converted(converter(), strategy, VERSION, [*configs, *keys.values()])
    for number, name in enumerate(TABLE[store]):
        rows = [
            ({"alertname": row["alert"], **cast("dict[str, str]", body["exp_labels"])}, row)
            for body, row in fired(store, name)
        ]
        silenced = {tuple(sorted(labels.items())) for labels, row in rows if row.get("silenced")}
        silenced = set() if strategy == "OnNamespace" else silenced
        (folder := tmp_path / str(number)).mkdir()
        with running(server, text, folder) as url:
            found = delivered(url, [labels for labels, _ in rows], silences=len(silenced)) if rows else {}
        expected = {
            tuple(sorted(labels.items())): {"null" if strategy == "OnNamespace" else row["to"]} for labels, row in rows
        }
        assert {labels: set(receivers) for labels, (receivers, _) in found.items()} == expected, name
        assert {labels for labels, (_, is_silenced) in found.items() if is_silenced} == silenced, name
