"""Reads the NVIDIA driver from Helm values of the chart gpu-operator, which renders them into a ClusterPolicy.

Source: NVIDIA/gpu-operator v26.7.0 deployments/gpu-operator/values.yaml, templates/clusterpolicy.yaml
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from gpuc.cluster.application import application_in
from gpuc.diagnostics.finding import Path
from gpuc.lint.load.chart_installs import VERSION_PATHS, ChartInstall, chart_installs, merged_values
from gpuc.manifest.manifest import Body, Manifest
from gpuc.objects.embedded import document
from gpuc.objects.object_set import dig, pairs
from gpuc.parts.folders import table_beside
from gpuc.plan.state import State

_CHART = "gpu-operator"
_DEFAULTS: dict[str, list[str]] = table_beside(__file__)["defaults"]
_SECTIONS: Final = ("driver", "daemonsets", "gds", "gdrcopy", "hostPaths", "sandboxWorkloads")
"""The sections of a ClusterPolicy, and of the values of the chart, that the driver pods or their upgrades depend on."""
_DELETION, _OF_CHART = "podDeletion", "gpuPodDeletion"
"""The names of the same section in a ClusterPolicy and in values of the chart."""
_POLICY: Body = {"maxParallelUpgrades": 1, "maxUnavailable": "25%", _DELETION: {"timeoutSeconds": 300}}
"""The upgrade policy of the chart, and of an NVIDIADriver. Without a policy, both have autoUpgrade: true."""


def driver_sections(spec: Any) -> Body:
    """Returns the sections of a ClusterPolicy that are maps and that the driver depends on."""
    return {name: dig(spec, name) for name in _SECTIONS if isinstance(dig(spec, name), dict)}


def with_policy(spec: Any) -> Body:
    """Returns the spec of an NVIDIADriver object, with defaults for missing fields of the upgrade policy."""
    own, policy = dict(pairs(spec)), dig(spec, "upgradePolicy")
    given = policy if isinstance(policy, dict) else {"autoUpgrade": True}
    return {**own, "upgradePolicy": merged_values(_POLICY, given)}


class ChartDriver(NamedTuple):
    """The NVIDIA driver that Helm values of the chart gpu-operator install."""

    sections: Body
    """Sections of the ClusterPolicy."""
    place: Callable[[Path], Path]
    """Returns the path in the object of the value of a field; empty if the object has no such value."""
    version_path: Path


def chart_driver(state: State, manifest: Manifest | None) -> ChartDriver | None:
    """Returns the NVIDIA driver that an object, such as an Application, installs with the chart; else None."""
    if manifest is None:
        return None
    kinds = (("", "ConfigMap"), ("source.toolkit.fluxcd.io", "OCIRepository")) if manifest.kind == "HelmRelease" else ()
    installs = chart_installs((manifest, *(row for kind in kinds for row in state.objects.of(*kind))), [], [])
    install = next((found for found in installs if found.chart == _CHART), None)
    if install is None:
        return None
    read = [(source, document(state.objects, source.value) or source.value) for source in install.sources]
    values: Any = {}
    for _, content in read:
        values = merged_values(values, content if isinstance(content, dict) else {})
    if dig(values, "clusterPolicy", "deployCR") is False:
        return None

    def place(path: Path) -> Path:
        own = tuple(_OF_CHART if step == _DELETION else step for step in path)
        for source, content in reversed(read):
            if source.file == manifest.file and dig(content, *own) is not None:
                is_map = isinstance(source.value, dict) and not source.is_parameter
                return (*source.path[len(manifest.origin) :], *(own if is_map else ()))
        return ()

    chart = None if manifest.kind in VERSION_PATHS else application_in(manifest).chart
    version_path = (*chart.path, "targetRevision") if chart else VERSION_PATHS.get(manifest.kind, ())
    return ChartDriver(_rendered(install, values), place, version_path)


def _rendered(install: ChartInstall, values: Body) -> Body:
    """Returns the sections of the ClusterPolicy.

    Without all Helm values, the sections have no defaults of the chart: a value that is not in the input could change
    them.
    """
    driver: Body = with_policy({})
    defaults: Body = {"driver": driver}
    if install.is_complete and install.version:
        known = _DEFAULTS.get(install.version.removeprefix("v"), [f"default of chart {install.version}"] * 2)
        driver |= {"version": known[0], "manager": {"version": known[1]}}
        defaults["daemonsets"] = {"labels": {"helm.sh/chart": f"{_CHART}-{install.version}"}}
    sections = driver_sections(merged_values(defaults, values))
    policy = dig(sections, "driver", "upgradePolicy")
    if isinstance(given := dig(policy, _OF_CHART), dict):
        own = {key: value for key, value in policy.items() if key != _OF_CHART}
        own[_DELETION] = merged_values(_POLICY[_DELETION], given)
        sections["driver"] = {**sections["driver"], "upgradePolicy": own}
    return sections
