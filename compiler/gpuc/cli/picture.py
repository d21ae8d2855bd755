"""Draws a cluster as SVG: the node pools, the GPUs of one node of each pool, and the queues that use the pool."""

from collections.abc import Iterator
from fractions import Fraction
from xml.sax.saxutils import escape

from gpuc.kubernetes.amounts import Amounts
from gpuc.model import Cluster, GpuPool, Pool
from gpuc.model.layout import place
from gpuc.model.sharing import Layout
from gpuc.model.units import unit_amounts, with_unit
from gpuc.plan.quantities import node_share
from gpuc.spec.queues import PoolAmount

_LETTERS = 56
"""The most letters of an amount below a bar."""
_WIDTH, _ROW, _TOP = 980, 76, 64
"""The width of the picture, the height of a node pool, and the height of title and legend with one line, in pixels."""
_GPUS, _GPUS_WIDTH, _GPU_HEIGHT = 250, 328, 44
_BAR, _BAR_WIDTH = 610, 354
_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759", "#76b7b2", "#9c755f", "#edc948")
_STYLE = """
    text { font: 12px system-ui, sans-serif; fill: #1f2328 }
    .name { font-weight: 600; font-size: 14px }
    .small { font-size: 11px; fill: #59636e }
    .slice { font-size: 8px; text-anchor: middle; fill: #1f2328 }
    .gpu { fill: #ddf4dd; stroke: #2da44e }
    .empty { fill: none; stroke: #b6bfc8 }
    .line { stroke: #2da44e; stroke-width: 0.7 }
    .turn { stroke-dasharray: 2 2 }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 } .small { fill: #9198a1 } .slice { fill: #1f2328 } .empty { stroke: #59636e }
    }"""


def picture(cluster: Cluster) -> str:
    """Returns the picture of a cluster as the text of an SVG file."""
    names = _sharers(cluster)
    lines = _lines_of_legend(names)
    top = _TOP + 18 * (len(lines) - 1)
    height = top + _ROW * len(cluster.pools) + 8
    body = [_text(16, 26, f"Cluster {cluster.name}: the GPUs of one node of each pool, and its quota", "name")]
    colours = {name: _COLOURS[number % len(_COLOURS)] for number, name in enumerate(names)}
    for number, line in enumerate(lines):
        for x, name in line:
            body += [
                _rect(x, 40 + 18 * number, 10, 10, f'fill="{colours[name]}"'),
                _text(x + 15, 49 + 18 * number, name),
            ]
    for row, pool in enumerate(cluster.pools):
        y = top + row * _ROW
        body += [*_pool(pool, y), *_gpus(pool, y), *_quota(cluster, pool, y, colours)]
    inner = "\n".join(f"  {line}" for line in body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">\n'
        f"  <title>{escape(cluster.name)}</title>\n  <style>{_STYLE}\n  </style>\n{inner}\n</svg>\n"
    )


def _sharers(cluster: Cluster) -> list[str]:
    """Returns the names of the queues, then of the namespaces with a ResourceQuota for a pool."""
    queues = [f"queue {queue.name}" for queue in cluster.queues]
    spaces = [space for tenant in cluster.tenants for space in tenant.namespaces if space.quotas]
    return queues + [f"namespace {space.name}" for space in spaces]


def _lines_of_legend(names: list[str]) -> list[list[tuple[int, str]]]:
    lines: list[list[tuple[int, str]]] = [[]]
    x = 16
    for name in names:
        width = 34 + 7 * len(name)
        if x + width > _WIDTH and lines[-1]:
            lines.append([])
            x = 16
        lines[-1].append((x, name))
        x += width
    return lines


def _pool(pool: Pool, y: int) -> Iterator[str]:
    nodes = with_unit(pool.nodes_max, "nodes")
    kinds = ", ".join(instance.type for instance in pool.instances)
    mode = {"exclusive": "complete GPUs", "mig": "MIG", "timeSlicing": "time-slicing", "mps": "MPS"}
    words = [
        mode[pool.sharing_kind] if pool.sharing_kind else "no GPUs",
        *([pool.spec.fabric.upper()] if pool.spec.fabric else []),
    ]
    yield _text(16, y + 16, pool.name, "name")
    yield _text(16, y + 32, f"{nodes if pool.is_static else f'at most {nodes}'}, {', '.join(words)}", "small")
    yield _text(
        16,
        y + 46,
        kinds if len(kinds) <= 38 else f"{pool.instances[0].type} and {len(pool.instances) - 1} more",
        "small",
    )


def _gpus(pool: Pool, y: int) -> Iterator[str]:
    """Yields a box for each GPU of a node, with its slices from the top in the order of their places."""
    if not isinstance(pool, GpuPool):
        return
    step = min(_GPUS_WIDTH / pool.gpus_per_node, 60)
    width = step - 5
    for number in range(pool.gpus_per_node):
        x = round(_GPUS + number * step, 1)
        yield _rect(x, y + 4, width, _GPU_HEIGHT, 'class="gpu"')
        if pool.sharing.kind == "mig":
            layouts = pool.sharing.layouts
            yield from _slices(
                pool, layouts[number] if len(layouts) == pool.gpus_per_node else layouts[0], x, y + 4, width
            )
        elif pool.sharing.replicas > 1:
            dashes = " turn" if pool.sharing.kind == "timeSlicing" else ""
            for share in range(1, pool.sharing.replicas):
                line = round(y + 4 + share * _GPU_HEIGHT / pool.sharing.replicas, 1)
                yield f'<path class="line{dashes}" d="M{x} {line}h{width}"/>'
    sharing = pool.sharing
    shares = f", {with_unit(sharing.replicas, 'shares')} of each" if sharing.replicas > 1 else ""
    yield _text(
        _GPUS, y + _GPU_HEIGHT + 18, f"{with_unit(pool.gpus_per_node, 'GPUs')} ({pool.gpu.name}){shares}", "small"
    )


def _slices(pool: GpuPool, layout: Layout, x: float, y: int, width: float) -> Iterator[str]:
    starts = place(dict(layout), pool.profiles) if layout else None
    for profile, places in (starts or {}).items():
        size = pool.profiles.profiles[profile].size
        unit = _GPU_HEIGHT / pool.profiles.placement_units
        for start in places:
            yield _rect(x, round(y + start * unit, 1), width, round(size * unit, 1), 'class="gpu"', profile)
            if size * unit > 9:
                yield _text(round(x + width / 2, 1), round(y + (start + size / 2) * unit + 3, 1), profile, "slice")


def _quota(cluster: Cluster, pool: Pool, y: int, colours: dict[str, str]) -> Iterator[str]:
    """Yields a bar of the complete pool with the nominal quota of each queue and namespace, and their amounts."""
    rows: list[tuple[str, Amounts, PoolAmount]] = [
        (f"queue {queue.name}", quota.nominal, quota.spec)
        for queue in cluster.queues
        for quota in queue.pool_quotas
        if quota.pool is pool
    ]
    rows += [
        (f"namespace {space.name}", quota.amounts, quota.spec)
        for tenant in cluster.tenants
        for space in tenant.namespaces
        for quota in space.quotas
        if quota.pool is pool
    ]
    shares = [node_share(pool, amounts) / max(pool.nodes_max, 1) for _, amounts, _ in rows]
    whole = max(sum(shares, Fraction(0)), Fraction(1))
    x = float(_BAR)
    for (name, _, spec), share in zip(rows, shares, strict=True):
        width = round(float(share / whole) * _BAR_WIDTH, 1)
        amount = _amount(pool, spec)
        yield _rect(round(x, 1), y + 4, width, 22, f'fill="{colours[name]}"', f"{name}: {amount}")
        x += width
    yield _rect(_BAR, y + 4, _BAR_WIDTH, 22, 'class="empty"')
    for number, (name, _, spec) in enumerate(rows[:2]):
        more = f", and {len(rows) - 2} more" if number and len(rows) > 2 else ""
        yield _text(
            _BAR, y + 40 + 14 * number, _short(f"{name.partition(' ')[2]}: {_amount(pool, spec)}{more}"), "small"
        )
    if not rows:
        yield _text(_BAR, y + 40, "no quota", "small")


def _amount(pool: Pool, spec: PoolAmount) -> str:
    return ", ".join(with_unit(count, unit) for unit, count in unit_amounts(pool, spec).items())


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 3]}..."


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text x="{x}" y="{y}" class="{kind or "plain"}">{escape(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, attributes: str, title: str = "") -> str:
    start = f'<rect x="{x}" y="{y}" width="{round(width, 1)}" height="{height}" rx="2" {attributes}'
    return f"{start}><title>{escape(title)}</title></rect>" if title else f"{start}/>"
