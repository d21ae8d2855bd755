"""Files for the setup of a cluster: the README for the first sync, and the health checks for Argo CD."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from gpuc.diagnostics.finding import Path as SpecPath
from gpuc.emit.added_charts import added_components
from gpuc.emit.alerts import alerts, metrics
from gpuc.emit.component import Component, Folder, by_section
from gpuc.emit.pod_deletion import grace_limits
from gpuc.emit.prerequisites import chapters, preparation
from gpuc.emit.prerequisites.record import Chapter, variables
from gpuc.emit.substrate import substrate_output
from gpuc.emit.template import render
from gpuc.emit.workloads import workloads
from gpuc.kubernetes.amounts import MEMORY, quantity_text
from gpuc.manifest.manifest import Artifact, Manifest, Text
from gpuc.model import Cluster, Pool
from gpuc.model.units import quota_text, with_unit
from gpuc.spec.charts import LAST_WAVE
from gpuc.spec.patches import Patch
from gpuc.spec.platform import NodeAgent

ORIGIN: SpecPath = ("spec", "delivery")
Titled = tuple[tuple[int, ...], str]
"""The sync waves of Applications, and their title."""


def bootstrap(cluster: Cluster, components: tuple[Component, ...], folders: list[Folder]) -> Iterator[Artifact]:
    """Yields the README of the cluster, and the health checks as values for the Helm chart of Argo CD.

    Args:
        components: the components that the cluster needs.
        folders: the folders that Argo CD syncs and that do not belong to a component.
    """
    folder = Path(__file__).parent
    readme = _readme_values(cluster, components, folders)
    readme["chapters"] = _chapters(cluster, components, readme)
    texts = {
        "README.md": render(substrate_output(cluster).folder, "cluster.md.j2", folder, **readme),
        "argocd-health.yaml": render(
            substrate_output(cluster).folder, "health.yaml.j2", folder, gpus=bool(cluster.gpu_pools)
        ),
    }
    for file, text in texts.items():
        yield Text(cluster.entry(file), ORIGIN, text)


def _chapters(cluster: Cluster, components: Iterable[Component], known: dict[str, object]) -> dict[str, str]:
    """Returns the chapters of the components. The key is the chapter of the README after which they come.

    Args:
        known: the variables of the README. The templates of the chapters have the same variables.
    """
    texts: dict[str, str] = {"checks": "", "quotas": ""}
    for component in by_section(components):
        if component.chapter:
            values = {**known, **component.chapter.values(cluster)}
            more = substrate_output(cluster).folder
            texts[component.chapter.after] += render(component.folder, "chapter.md.j2", more, **values)
    return texts


def _readme_values(cluster: Cluster, components: tuple[Component, ...], folders: list[Folder]) -> dict[str, object]:
    found = chapters(cluster)
    kinds = {template.kind for template in workloads(cluster) if isinstance(template, Manifest)}
    return {
        "cluster": cluster,
        "spec": cluster.spec,
        **substrate_output(cluster).values(cluster),
        "kubernetes_name": substrate_output(cluster).cluster_name(cluster),
        "network": cluster.network,
        "preparation": preparation(cluster, found),
        "first_steps": [_first_step(chapter) for chapter in found],
        "steps": {chapter.title: number for number, chapter in enumerate(found, 1)},
        **_delivery_values(cluster),
        **_component_values(cluster, components, folders),
        "keeps_runs": [pool for pool in cluster.pools if pool.keeps_runs],
        "warm": [pool for pool in cluster.pools if pool.warm_nodes],
        "agents": [_agent(name, agent) for name, agent in cluster.spec.node_agents.items()],
        "mps_pools": [pool for pool in cluster.gpu_pools if pool.mps_user is not None],
        "outside": _outside_of_model(cluster),
        **_unproved_values(cluster),
        "isolates": any(tenant.isolates_network for tenant in cluster.tenants),
        "template_kinds": kinds,
        **_alert_values(cluster),
        "tolerations": _tolerations,
        "node_resources": _node_resources,
        "users": partial(_users, cluster),
        "address_ranges": _address_ranges(cluster),
        "grace_limits": ", ".join(f"{tenant} {seconds}" for tenant, seconds in grace_limits(cluster).items()),
    }


def _first_step(chapter: Chapter) -> dict[str, str]:
    """Returns the title of a chapter, its anchor, and the number of its prerequisites.

    The result does not contain the names of the prerequisites: users choose the names, and only the chapter escapes
    their characters.
    """
    anchor = "".join(sign for sign in chapter.title.lower().replace(" ", "-") if sign.isalnum() or sign == "-")
    return {"title": chapter.title, "anchor": anchor, "things": with_unit(len(chapter.prerequisites), "things")}


def _delivery_values(cluster: Cluster) -> dict[str, object]:
    """Returns the values about Argo CD and the repository."""
    delivery = cluster.spec.delivery
    return {
        **variables(cluster),
        "is_hub": not delivery.destination.is_own_cluster,
        "tree": f"{delivery.path}/{cluster.name}",
        "out": cluster.out("").rstrip("/"),
        "folder": str(PurePosixPath(delivery.path).parent),
    }


def _component_values(cluster: Cluster, components: tuple[Component, ...], folders: list[Folder]) -> dict[str, object]:
    """Returns the values of the sections about components: the sync waves, the charts, and charts of other teams."""
    managed = [component for component in components if cluster.is_managed(component.name)]
    return {
        "components": [component.release(cluster) for component in managed],
        "waves": _waves(cluster, components, folders),
        "awaited_charts": [name for name, chart in cluster.spec.charts.items() if chart.wave < LAST_WAVE],
        "of_users": [*cluster.spec.charts, *(f"extra-{owner}".rstrip("-") for owner in cluster.object_owners)],
        "with_crds": [component.name for component in managed if component.may_need_refresh],
        "ready_checks": [component.ready_check for component in by_section(components) if component.ready_check],
    }


def _waves(cluster: Cluster, components: Iterable[Component], folders: Iterable[Folder]) -> dict[str, list[str]]:
    """Returns the titles of the Applications by sync wave; folders of adjacent waves have one key, such as "25, 26"."""
    rows: list[Titled] = [((folder.wave,), folder.title) for folder in folders]
    rows += [row for component in by_section(components) for row in _applications(cluster, component)]
    rows += [((component.wave,), component.title) for component in added_components(cluster).values()]
    rows += [((LAST_WAVE,), f"manifests of {owner or 'the platform'}") for owner in cluster.object_owners]
    waves: dict[str, list[str]] = {}
    for numbers, title in sorted(rows, key=lambda row: row[0][0]):
        waves.setdefault(", ".join(map(str, numbers)), []).append(title)
    return waves


def _applications(cluster: Cluster, component: Component) -> Iterator[Titled]:
    """Yields the sync waves and the titles of the Applications of a component."""
    beside = [folder.title for folder in component.folders if folder.wave == component.wave]
    if cluster.is_managed(component.name):
        yield (component.wave,), " and its ".join([component.title.removeprefix("the "), *beside])
    else:
        yield from (((component.wave,), f"{title} of {component.title}") for title in beside)
    titles = {folder.wave: folder.title for folder in component.folders if folder.wave != component.wave}
    while titles:
        waves = [wave := min(titles)]
        while (wave := wave + 1) in titles:
            waves.append(wave)
        yield tuple(waves), ", ".join(dict.fromkeys(titles.pop(wave) for wave in waves))


def _address_ranges(cluster: Cluster) -> str:
    """Returns the address ranges of the spec; empty if the spec has none."""
    ranges = {
        "pods": cluster.network.pod_cidrs,
        substrate_output(cluster).endpoints: cluster.network.endpoint_cidrs,
        "API server": cluster.network.api_server_cidrs,
    }
    return "; ".join(f"{name} {', '.join(cidrs)}" for name, cidrs in ranges.items() if cidrs)


def _tolerations(pool: Pool) -> str:
    """Returns the tolerations of the taints of a pool, in YAML."""
    texts = (", ".join(f"{key}: {value}" for key, value in taint.toleration().items()) for taint in pool.taints)
    return ", ".join(f"`{{{text}}}`" for text in texts)


def _node_resources(pool: Pool) -> str:
    """Returns the resources for pods on each node of a pool."""
    return ", ".join(f"{quantity_text(name, amount)} {name}" for name, amount in pool.node.items())


def _unproved_values(cluster: Cluster) -> dict[str, object]:
    """Returns the values of the README about pools for which gpuc cannot check everything."""
    return {
        "shared_pools": [
            pool for pool in cluster.gpu_pools if any("shared" in name for name in pool.gpu_resource_names)
        ],
        "fabric_unproved": [
            pool
            for pool in cluster.gpu_pools
            if pool.reports_gpus and pool.has_nvswitch and pool.gpu.architecture == "blackwell"
        ],
        "unjudged_scripts": [pool for pool in cluster.pools if pool.own_user_data and not pool.judges_user_data],
    }


def _agent(name: str, agent: NodeAgent) -> str:
    """Returns the name and the requests of a node agent: "log-agent (cpu 500m, memory 1Gi, all nodes)"."""
    memory = quantity_text(MEMORY, agent.memory)
    return f"{name} (cpu {agent.cpu}, memory {memory}, {agent.nodes} nodes)"


def _users(cluster: Cluster, pool: Pool) -> list[str]:
    """Returns the namespaces that can use a pool, with the quota of the namespace if no queue counts the pool."""
    found = []
    for _, namespace in cluster.namespaces:
        quotas = [f": {quota_text(pool, quota.spec)}" for quota in namespace.quotas if quota.pool is pool]
        if quotas or any(pool in queue.pools for queue in namespace.queues):
            found.append(namespace.name + "".join(quotas))
    return found


def _alert_values(cluster: Cluster) -> dict[str, object]:
    """Returns the alerts with their severities and metrics, and the XIDs without an alert by reason."""
    severities: dict[str, set[str]] = {}
    for alert in alerts(cluster) if cluster.spec.observability else ():
        severities.setdefault(alert.name, set()).add(alert.severity)
    needed = metrics(cluster) if severities else {}
    harmless: dict[str, list[int]] = {}
    for xid in cluster.catalog.xids.values():
        if xid.action == "none":
            harmless.setdefault(xid.reason, []).append(xid.xid)
    return {
        "alerts": [
            (name, " or ".join(sorted(severities[name])), ", ".join(sorted(needed[name])) or "none")
            for name in sorted(severities)
        ],
        "harmless_xids": {reason: ", ".join(map(str, sorted(codes))) for reason, codes in harmless.items()},
    }


class Outside(Struct, frozen=True):
    """Parts of a spec that gpuc copies into the output without understanding them, for example all patches."""

    count: int
    noun: str
    """The noun for one setting, for example "patch"."""
    plural: str
    entries: list[str]
    """A line in Markdown for each entry of the spec."""

    @property
    def summary(self) -> str:
        """The number of copied parts with their noun, for example "1 patch" or "2 patches"."""
        return f"{self.count} {self.noun if self.count == 1 else self.plural}"


def _outside_of_model(cluster: Cluster) -> list[Outside]:
    """Returns the settings of the cluster whose meaning gpuc does not know, by kind; empty without such settings."""
    charts, patches = cluster.spec.charts, cluster.spec.patches
    paths = {name: list(_leaves(settings.values)) for name, settings in cluster.spec.components.items()}
    values = [f"`{name}`: {', '.join(f'`{path}`' for path in found)}" for name, found in paths.items() if found]
    added = [f"`{name}`: {chart.chart} {chart.version} of {chart.repository}" for name, chart in charts.items()]
    pools: dict[str, list[str]] = {}
    for pool in cluster.pools:
        if pool.own_user_data:
            pools.setdefault(pool.own_user_data, []).append(f"`{pool.name}`")
    texts = [f"nodes of {', '.join(names)}" for names in pools.values()]
    kinds = (
        Outside(sum(map(len, paths.values())), "value", "values", values),
        Outside(len(patches), "patch", "patches", [_patch(patch) for patch in patches]),
        Outside(len(charts), "chart", "charts", added),
        Outside(len(cluster.user_manifests), "manifest", "manifests", ["the objects in `extra/`"]),
        Outside(len(pools), "text of user data", "texts of user data", texts),
    )
    return [kind for kind in kinds if kind.count]


def _leaves(values: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields the path of every value that is no map, with dots between the keys."""
    for key, value in values.items():
        path = f"{prefix}{key}".replace("`", "'")
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{path}.")
        else:
            yield path


def _patch(patch: Patch) -> str:
    """Returns the target of a patch and the reason: "NodePool train-*: the audit agent needs a label"."""
    target = patch.target
    namespace = f"{target.namespace}/" if target.namespace else ""
    return f"`{target.kind} {namespace}{target.name}`" + (f": {patch.why}" if patch.why else "")
