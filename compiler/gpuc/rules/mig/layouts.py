"""Rules about the MIG layouts of node pools."""

from gpuc.diagnostics.finding import Path, Related, Severity
from gpuc.model import GpuPool
from gpuc.rules import Findings, Found, gpu_rule


def layout_path(pool: GpuPool) -> Path:
    """Returns the path of the MIG layout in the spec. It ends with `every` for all GPUs, or `gpus` for some GPUs."""
    mig = pool.spec.sharing.mig if pool.spec.sharing else None
    return (*pool.path, "sharing", "mig", "every" if mig and mig.every else "gpus")


@gpu_rule("MIG008")
def layout_without_partitioner(pool: GpuPool) -> Findings:
    """A node pool has a MIG layout, but gpuc cannot partition GPUs with the AMI of the node pool."""
    if pool.sharing and pool.sharing.mode == "mig" and not (pool.mig_by_operator or pool.mig_by_user_data):
        actual = f"node pool {pool.name} has a MIG layout and {pool.image.id} AMIs"
        message = f"{actual}, with which gpuc cannot partition GPUs; expected AL2023 or Ubuntu AMIs"
        related = [Related("the AMI", pool.image_path, on_key=True)]
        yield Found(layout_path(pool), message, related=related)


@gpu_rule("MIG002")
def single_strategy_on_mixed_layout(pool: GpuPool) -> Findings:
    """A node pool has the MIG strategy single, but several MIG profiles, or both slices and whole GPUs."""
    sharing = pool.sharing
    if sharing and sharing.strategy == "single":
        kinds = [f"{profile} slices" for profile in sharing.slices()]
        kinds += ["whole GPUs"] if sharing.whole_gpus else []
        if len(kinds) > 1:
            actual = f"MIG strategy of node pool {pool.name} is single, but its nodes have {' and '.join(kinds)}"
            message = f"{actual}; expected one MIG profile on all GPUs"
            related = [Related("the layout", layout_path(pool), on_key=True)]
            fix = f"set sharing.mig.strategy of node pool {pool.name} to mixed"
            yield Found((*pool.path, "sharing", "mig", "strategy"), message, fix, related)


@gpu_rule("MIG010", Severity.WARNING)
def training_on_slices(pool: GpuPool) -> Findings:
    """A training node pool has MIG slices."""
    if pool.spec.purpose == "training" and pool.sharing and pool.sharing.mode == "mig":
        message = f"purpose of node pool {pool.name} is training, but its GPUs are MIG slices"
        related = [Related("MIG layout", (*pool.path, "sharing", "mig"), on_key=True)]
        yield Found((*pool.path, "purpose"), message, related=related)
