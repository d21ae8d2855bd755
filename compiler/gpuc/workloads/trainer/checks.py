"""Functions for checks of Kubeflow Trainer's webhook for training runtimes."""

from gpuc.admission.validation.field import Field, Problems, count_or_one

_STEPS = ("dataset-initializer", "model-initializer", "trainer")


def _job_of_runtime(job: Field) -> Problems:
    template = job.at("template")
    step = template.get("metadata", "labels", "trainer.kubeflow.org/trainjob-ancestor-step")
    if step not in _STEPS:
        return
    if count_or_one(job.get("replicas")) != 1:
        yield job.at("replicas").problem(f"the Job of the step {step} has one replica", "write 1")
    containers, needed = template.at("spec", "template", "spec", "containers"), "node" if step == "trainer" else step
    names = [container.get("name") for container in containers.rows()]
    if needed not in names:
        beside = ", ".join(map(str, names))
        yield containers.problem(f'the Job of the step {step} has no container "{needed}"; expected it beside {beside}')
