from collections.abc import Iterator, Sequence

from pydantic import BaseModel

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.diagnostics.place import dotted
from gpuc.model import Cluster
from gpuc.rules import Findings, Found, rule
from gpuc.rules.network.exceptions import exceptions
from gpuc.spec.network import Egress


@rule("KRP102", Severity.WARNING)
def repeated_entries(cluster: Cluster) -> Findings:
    """A list contains the same value twice."""
    for path, values in _lists(cluster):
        name = dotted(path[1:])
        for index, value in enumerate(values):
            if value in values[:index]:
                message, fix = f"{name} contains {value} twice", f"remove the second {value} from {name}"
                related = [Related(f"the first {value}", (*path, values.index(value)))]
                yield Found((*path, index), message, fix, related)


def _lists(cluster: Cluster) -> Iterator[tuple[Path, Sequence[str]]]:
    """Yields the path and the values of every list in which a repeated value has no effect."""
    yield from _of_section(cluster.spec.cloud.section, ("spec", "cloud", cluster.spec.cloud.substrate.name))
    yield ("spec", "kueue", "frameworks"), cluster.spec.kueue.frameworks or []
    for pool in cluster.pools:
        yield (*pool.path, "instances"), pool.spec.instances
        key = cluster.spec.cloud.substrate.pool_key
        yield from _of_section(getattr(pool.spec, key), (*pool.path, key))
    for queue in cluster.queues:
        yield (*queue.path, "tenants"), queue.spec.tenants
    for tenant in cluster.tenants:
        for members in tenant.members:
            yield (*members.path, "groups"), members.spec.groups
            yield (*members.path, "namespaces"), members.spec.namespaces or []
        for path, exception in exceptions(tenant):
            yield (*path, "only"), exception.only or []
            yield (*path, "names"), (isinstance(exception, Egress) and exception.names) or []
    yield ("spec", "auditors", "groups"), cluster.auditors


def _of_section(section: BaseModel, path: Path) -> Iterator[tuple[Path, Sequence[str]]]:
    """Yields the path and the values of every list of texts in a section of a substrate."""
    for name, field in type(section).model_fields.items():
        value, place = getattr(section, name), (*path, field.alias or name)
        if isinstance(value, BaseModel):
            yield from _of_section(value, place)
        elif isinstance(value, list) and all(isinstance(text, str) for text in value):
            yield place, value
