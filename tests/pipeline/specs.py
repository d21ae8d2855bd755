"""Random specs that a user could write and that violate no rule."""

from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from gpuc.catalog import load
from gpuc.model.layout import place
from tests.pipeline.memory import source

Tree = dict[str, Any]

ZONES = ["us-east-1a", "us-east-1b"]
WITH_MIG = ["p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge"]
WITH_EFA = [*WITH_MIG, "g6e.24xlarge"]
SMALL = ["g5.12xlarge", "g6.2xlarge", "g6.12xlarge", "g6e.12xlarge", "g4dn.12xlarge"]
CPU_INSTANCES = [["m7i.4xlarge", "m7i.8xlarge"], ["m8g.4xlarge"], ["c8g.8xlarge", "r8g.4xlarge"]]
FRAMEWORKS = [
    ["batch/job", "deployment"],
    ["batch/job", "pod", "statefulset"],
    ["batch/job", "kubeflow.org/pytorchjob", "leaderworkerset.x-k8s.io/leaderworkerset"],
]
PURCHASES = [["on-demand"], ["spot"], ["spot", "on-demand"], ["reserved"], ["reserved", "on-demand"]]


@st.composite
def specs(draw: st.DrawFn) -> Tree:
    """A complete spec: one to four GPU pools, perhaps a general one, and one to three tenants with their queues."""
    tree = deepcopy(source("prod-use1").tree)
    spec = tree["spec"]
    names = [f"t{index}" for index in range(draw(st.integers(1, 3)))]
    isolation = {name: draw(st.sampled_from(["namespace", "network", "dedicated"])) for name in names}
    pools: dict[str, Tree] = {}
    owners: dict[str, list[str]] = {}
    for index in range(draw(st.integers(1, 4))):
        pool = draw(gpu_pools())
        pools[f"p{index}"] = pool
        owners[f"p{index}"] = _owners(draw, names, isolation, pool)
    for name in names:
        if not any(name in having for having in owners.values()):
            pools[f"own-{name}"] = {**draw(gpu_pools()), "nodes": {"max": 4}}
            pools[f"own-{name}"].pop("topology", None)
            owners[f"own-{name}"] = [name]
    shared = [name for name in names if isolation[name] != "dedicated"]
    if shared and draw(st.booleans()):
        pools["cpu"] = {
            "purpose": "general", "instances": draw(st.sampled_from(CPU_INSTANCES)),
            "eks": {"purchase": ["on-demand"]}, "nodes": {"max": 12},
        }  # fmt: skip
        owners["cpu"] = shared
    if all(map(_is_outside, pools.values())):
        pools["p0"]["counted"] = "kueue"  # a spec needs a queue
    spec["pools"] = pools
    spec["tenants"] = {name: _tenant(draw, name, isolation[name]) for name in names}
    outside = {name for name in pools if _is_outside(pools[name])}
    for pool in sorted(outside):
        for name in owners[pool]:
            # Namespaces of this kind have no queue, and a quota of one pool, because pools may have equal resources.
            quota = {pool: _quota(pools[pool], len(owners[pool]))}
            settings = {"podSecurity": "privileged", "queues": [], "quota": quota}
            spec["tenants"][name]["namespaces"][f"{name}-{pool}"] = settings
    spec["kueue"] = {"frameworks": draw(st.sampled_from(FRAMEWORKS))}
    spec["queueing"] = {"fairSharing": draw(st.booleans())}
    spec["cohorts"] = {"all": {}} if len(names) > 1 and draw(st.booleans()) else {}
    spec["queues"] = _queues(names, pools, owners, bool(spec["cohorts"]))
    spec["cohorts"] = spec["cohorts"] if any("cohort" in queue for queue in spec["queues"].values()) else {}
    spec["nccl"] = {"profiles": {}}
    spec["observability"]["notify"]["routes"] = [{"to": "on-call"}]
    spec["environment"] = draw(st.sampled_from(["dev", "staging", "prod"]))
    spec["kubernetes"] = draw(st.sampled_from(["1.33", "1.34", "1.35"]))
    spec["network"]["policyEngine"] = draw(st.sampled_from(["vpc-cni", "cilium"]))
    spec["network"] |= {"nodeLocalDns": draw(st.booleans()), "serviceCidr": "172.20.0.0/16"}
    for tenant in spec["tenants"].values():
        tenant.setdefault("network", {})["apiServer"] = draw(st.booleans())
    spec["policies"] = {
        "default": draw(st.sampled_from(["dryrun", "warn", "deny"])),
        "gpu-quota": "deny",
        "queue-required": "deny",
        "images": spec["policies"]["images"],
    }
    return tree


def _is_outside(pool: Tree) -> bool:
    """Whether ResourceQuotas count the pool."""
    return (pool.get("counted") or ("quota" if pool["purpose"] == "inference" else "kueue")) == "quota"


@st.composite
def gpu_pools(draw: st.DrawFn) -> Tree:
    """A pool with GPUs, in one of the four sharing modes."""
    mode = draw(st.sampled_from(["exclusive", "mig", "timeSlicing", "mps"]))
    efa = mode == "exclusive" and draw(st.sampled_from([True, True, False]))
    static = efa and draw(st.booleans())
    types = WITH_MIG if mode == "mig" else WITH_EFA if efa else SMALL
    instance = draw(st.sampled_from(types))
    pool: Tree = {
        "purpose": "training" if efa else draw(st.sampled_from(["inference", "interactive"])),
        "instances": [instance],
        "eks": {
            "purchase": ["reserved"] if static else draw(st.sampled_from(PURCHASES)),
            "zones": [draw(st.sampled_from(ZONES))] if efa else ZONES,
        },
        "nodes": {"max": 12},
        "sharing": _sharing(draw, mode, instance),
    }
    counted = draw(st.sampled_from([None, None, "kueue", "quota"]))
    if counted:
        pool["counted"] = counted
    if "reserved" in pool["eks"]["purchase"]:
        pool["eks"]["reservations"] = {"ids": ["cr-0123456789abcdef0"]}
    if efa:
        pool["fabric"] = "efa"
        pool["runs"] = {"longest": "24h", "checkpointEvery": "15m"}
    if static:
        pool |= {"nodes": {"static": 12}, "topology": ["zone", "block", "host"]}
        pool["eks"]["placement"] = "cluster"
    return pool


def _sharing(draw: st.DrawFn, mode: str, instance: str) -> Any:
    if mode == "exclusive":
        return "exclusive"
    if mode != "mig":
        return {mode: {"replicas": draw(st.integers(2, 16))}}
    row = load().instances[instance]
    if draw(st.booleans()):
        return {"mig": {"every": draw(layouts(row.gpu))}}
    cut = draw(st.integers(1, row.gpu_count - 1))
    groups = [{"index": list(range(cut)), "layout": draw(layouts(row.gpu))}]
    rest = list(range(cut, row.gpu_count))
    groups.append(
        {"index": rest, "whole": True} if draw(st.booleans()) else {"index": rest, "layout": draw(layouts(row.gpu))}
    )
    return {"mig": {"gpus": groups}}


@st.composite
def layouts(draw: st.DrawFn, gpu: str) -> dict[str, int]:
    """Instances by profile that can be placed on one GPU."""
    profiles = load().profile_sets[gpu]
    plain = [name for name, profile in profiles.profiles.items() if not profile.media and "+gfx" not in name]
    wanted = draw(st.lists(st.sampled_from(plain), min_size=1, max_size=7))
    layout: dict[str, int] = {}
    for name in wanted:
        more = {**layout, name: layout.get(name, 0) + 1}
        if place(more, profiles) is not None:
            layout = more
    return layout


def _owners(draw: st.DrawFn, names: list[str], isolation: dict[str, str], pool: Tree) -> list[str]:
    """The tenants of a pool: one, or several if the GPUs isolate them and no tenant is dedicated."""
    first = draw(st.sampled_from(names))
    isolates = pool["sharing"] == "exclusive" or "mig" in pool["sharing"]
    if isolation[first] == "dedicated" or not isolates:
        return [first]
    others = [name for name in names if name != first and isolation[name] != "dedicated" and draw(st.booleans())]
    return [first, *others]


def _tenant(draw: st.DrawFn, name: str, isolation: str) -> Tree:
    return {
        "members": {"groups": [f"oidc:{name}"], "role": draw(st.sampled_from(["view", "edit", "admin"]))},
        "costCentre": f"CC-{name}",
        "isolation": isolation,
        "namespaces": {
            f"{name}-train": {"podSecurity": "privileged"},
            f"{name}-serve": {"podSecurity": draw(st.sampled_from(["baseline", "restricted"]))},
        },
    }


def _queues(names: list[str], pools: dict[str, Tree], owners: dict[str, list[str]], cohort: bool) -> dict[str, Tree]:
    queues = {}
    for name in names:
        quota = {}
        for pool, having in owners.items():
            if name in having and not _is_outside(pools[pool]):
                quota[pool] = _quota(pools[pool], len(having))
                if cohort and len(having) > 1:
                    quota[pool] |= {"borrow": "all", "lend": "all"}
        if quota:
            queues[f"q-{name}"] = {"tenants": [name], "quota": quota} | ({"cohort": "all"} if cohort else {})
    return queues


def _quota(pool: Tree, parts: int) -> Tree:
    """An equal part of a pool, in the unit of its sharing mode."""
    nodes = (pool["nodes"].get("max") or pool["nodes"]["static"]) // parts
    sharing = pool.get("sharing", "exclusive")
    if sharing == "exclusive":
        return {"nodes": nodes}
    gpus = load().instances[pool["instances"][0]].gpu_count
    if "mig" not in sharing:
        return {"shares": nodes * gpus * next(iter(sharing.values()))["replicas"]}
    groups = sharing["mig"].get("gpus") or [{"index": list(range(gpus)), "layout": sharing["mig"]["every"]}]
    slices: dict[str, int] = {}
    whole = 0
    for group in groups:
        for profile, count in group.get("layout", {}).items():
            slices[profile] = slices.get(profile, 0) + count * len(group["index"]) * nodes
        whole += len(group["index"]) * nodes if "whole" in group else 0
    return {"slices": slices} | ({"gpus": whole} if whole else {})
