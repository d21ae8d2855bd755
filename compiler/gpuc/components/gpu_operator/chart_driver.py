"""The driver that values of the chart gpu-operator install: the ClusterPolicy that the chart renders from them.

Source: NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/values.yaml, templates/clusterpolicy.yaml
"""

from typing import Any, Final

from msgspec import Struct

from gpuc.cluster.application import ARGO, application_in
from gpuc.diagnostics.finding import Path
from gpuc.lint.load.chart_installs import ChartInstall, ValuesSource, chart_installs, merged_values
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.embedded import document
from gpuc.objects.object_set import ObjectSet, dig
from gpuc.parts.folders import table_beside
from gpuc.plan.state import State

CHART = "gpu-operator"
_DEFAULTS: dict[str, list[str]] = table_beside(__file__)["defaults"]
_VERSIONS: dict[str, Path] = {"HelmRelease": ("spec", "chart", "spec", "version"), "HelmChart": ("spec", "version")}
CHART_KINDS: Final = (
    (ARGO, "Application"), (ARGO, "ApplicationSet"), ("helm.toolkit.fluxcd.io", "HelmRelease"),
    ("helm.cattle.io", "HelmChart"),
)  # fmt: skip
"""The kinds of objects that install charts."""
SECTIONS: Final = ("driver", "daemonsets", "gds", "gdrcopy", "hostPaths", "sandboxWorkloads")
"""The sections of a ClusterPolicy, and of the values of the chart, that the driver pods or their upgrades depend on."""
_POLICY: Body = {
    "autoUpgrade": False,
    "maxParallelUpgrades": 1,
    "maxUnavailable": "25%",
    "podDeletion": {"timeoutSeconds": 300},
    "drain": {"timeoutSeconds": 300},
}
"""The upgrade policy of the chart, and of an NVIDIADriver. Without a policy, both have autoUpgrade: true."""
_DELETION, _OF_CHART = "podDeletion", "gpuPodDeletion"
"""The names of the same section in a ClusterPolicy and in values of the chart."""


def with_policy(spec: Any) -> Body:
    """Returns the spec of an NVIDIADriver with the defaults of its upgrade policy."""
    own = spec if isinstance(spec, dict) else {}
    policy = own.get("upgradePolicy")
    given = policy if isinstance(policy, dict) else {"autoUpgrade": True}
    return {**own, "upgradePolicy": merged_values(_POLICY, given)}


class ChartDriver(Struct, frozen=True):
    """The driver that an object with values of the chart installs."""

    sections: Body
    """Sections of the ClusterPolicy."""
    given: tuple[tuple[Path, Any, bool], ...]
    """The values in the object: their path, their content, and whether the object has them as a map."""
    version_path: Path
    """The path of the version of the chart."""

    def place(self, path: Path) -> Path:
        """Returns the path in the object of the value of a field; empty if the object has no such value."""
        own = tuple(_OF_CHART if step == _DELETION else step for step in path)
        for start, values, is_map in reversed(self.given):
            if dig(values, *own) is not None:
                return (*start, *own) if is_map else start
        return ()


def chart_driver(state: State, manifest: Manifest | None) -> ChartDriver | None:
    """Returns the driver that an object installs; None if it does not install a ClusterPolicy by the chart."""
    others = (*state.objects.of("", "ConfigMap"), *state.objects.of("source.toolkit.fluxcd.io", "OCIRepository"))
    if manifest is None:
        return None
    installs = chart_installs((manifest, *others), [], [])
    install = next((found for found in installs if found.chart == CHART), None)
    if install is None:
        return None
    read = [(source, _content(state.objects, source)) for source in install.sources]
    values: Any = {}
    for _, content in read:
        values = merged_values(values, content)
    if dig(values, "clusterPolicy", "deployCR") is False:
        return None
    start = len(manifest.origin)
    given = tuple(
        (source.path[start:], content, isinstance(source.value, dict) and not source.is_parameter)
        for source, content in read
        if source.file == manifest.file and source.path[:start] == manifest.origin
    )
    chart = application_in(manifest).chart if (manifest.kind not in _VERSIONS) else None
    version_path = (*chart.path, "targetRevision") if chart else _VERSIONS.get(manifest.kind, ())
    return ChartDriver(_rendered(install, values), given, version_path)


def _content(objects: ObjectSet, source: ValuesSource) -> Body:
    parsed = document(objects, source.value) if isinstance(source.value, str) else source.value
    own = dig(parsed, *source.chart_path)
    return own if isinstance(own, dict) else {}


def _rendered(install: ChartInstall, values: Body) -> Body:
    """Returns the sections of the ClusterPolicy. Values that are not in the input can set what the version decides."""
    driver: Body = {"upgradePolicy": {**_POLICY, "autoUpgrade": True}}
    defaults: Body = {"driver": driver}
    if install.is_complete and install.version:
        known = _DEFAULTS.get(install.version.removeprefix("v"), [f"default of chart {install.version}"] * 2)
        driver |= {"version": known[0], "manager": {"version": known[1]}}
        defaults["daemonsets"] = {"labels": {"helm.sh/chart": f"{CHART}-{install.version}"}}
    merged = merged_values(defaults, values)
    sections = {name: dig(merged, name) for name in SECTIONS if isinstance(dig(merged, name), dict)}
    policy = dig(sections, "driver", "upgradePolicy")
    if isinstance(policy, dict) and isinstance(policy.get(_OF_CHART), dict):
        own = {key: value for key, value in policy.items() if key != _OF_CHART}
        deletion = merged_values(_POLICY[_DELETION], policy[_OF_CHART])
        sections["driver"] = {**sections["driver"], "upgradePolicy": {**own, _DELETION: deletion}}
    return sections
