"""The commands that compile, compare or judge clusters."""

from __future__ import annotations

from gpuc.cli.command import SPECS, Argument, Command, exit_codes, form, formats
from gpuc.diagnostics.report import FORMATS

LEVELS = ("destroys", "disrupts", "restricts", "costs", "none")
"""The levels of impacts, the most dangerous first."""
_STRICT = Argument("--strict", "exit with 1 for warnings too")
_COMPILE = (
    SPECS,
    Argument("--into DIR", "the folder for out/ and clusters/ (default: the root)", type="new folder"),
    *formats(*FORMATS),
    _STRICT,
    Argument(
        "-q, --quiet",
        "print only errors and warnings, and nothing without them; other formats and files stay complete",
    ),
)
_FINDINGS = exit_codes(
    "no errors (with --strict: no errors and no warnings)", "errors (with --strict: errors or warnings)"
)
_IMPACTS = (
    Argument(
        "--workloads DIR",
        "a folder with objects that run in the cluster: the plan names those that the change would refuse",
        type="folder",
    ),
    Argument(
        "--fail-on LEVEL",
        f"exit with 1 for an impact of this level or a more dangerous one: {', '.join(LEVELS)}",
        LEVELS,
    ),
    *formats("text", "markdown", "json"),
)
_PLAN = """The levels of impacts, the most dangerous first:
  destroys   data, running work or capacity is lost
  disrupts   nodes are replaced, work is evicted, or admission stops
  restricts  something that was possible is refused or waits longer
  costs      money
  none       nothing that runs is disturbed
`gpuc explain ID` explains an impact. To accept an impact, write `accept: {ID: reason}` into the spec.

""" + exit_codes(
    "the report is complete",
    "an impact has the level of --fail-on, or a spec has errors",
    "the command line is wrong, or the state before cannot be read",
)
CLUSTER_COMMANDS = (
    Command(
        "compile",
        "Compile the specs and write the Kubernetes objects and Helm values into out/ and clusters/.",
        "compile_command:run_compile",
        _COMPILE,
        (
            ("compile all clusters in specs/", "gpuc compile"),
            ("compile one cluster", "gpuc compile prod-use1"),
            ("write the output into another folder, to compare it", "gpuc compile --into /tmp/new"),
            ("print only errors and warnings, for example in a script", "gpuc compile --quiet"),
        ),
        _FINDINGS,
    ),
    Command(
        "check",
        "Check the specs and report every finding. Writes no file.",
        "compile_command:run_check",
        (
            *_COMPILE,
            Argument("--fresh", "also report committed files in out/ and clusters/ that compile would change"),
        ),
        (
            ("check all clusters in specs/", "gpuc check"),
            ("check one cluster; warnings are errors too", "gpuc check --strict specs/prod-use1.yaml"),
            ("in CI: also report committed output that a compile would change", "gpuc check --fresh --format github"),
            ("print the report and write it to a file for code scanning", "gpuc check --output sarif=gpuc.sarif"),
        ),
        _FINDINGS,
    ),
    Command(
        "plan",
        "Show what the specs change in running clusters, compared with a revision: impacts, costs and objects.",
        "plan_command:run_plan",
        (
            SPECS._replace(help="a spec file or the name of a cluster (default: all clusters of both states)"),
            Argument(
                "--against REV|DIR",
                "the state before: a revision of the Git repository, or the folder of another checkout "
                "(default: the merge base of HEAD and the default branch of origin)",
            ),
            *_IMPACTS,
            Argument("--strict", "exit with 1 if the spec accepts an impact that is gone"),
        ),
        (
            ("compare the specs with the merge base of HEAD and the default branch of origin", "gpuc plan"),
            ("compare one cluster with a revision", "gpuc plan prod-use1 --against HEAD~1"),
            (
                "in CI: write a comment, and fail if data, work or capacity is lost",
                "gpuc plan --output markdown=plan.md --fail-on destroys",
            ),
            ("also show which running workloads new policies would refuse", "gpuc plan --workloads cluster-dump/"),
        ),
        _PLAN,
    ),
    Command(
        "diff",
        "Show what a change of manifests does to a running cluster, without a spec.",
        "plan_command:run_diff",
        (
            Argument("OLD", "a file or folder with the manifests of the cluster before", dest="old"),
            Argument("NEW", "a file or folder with the manifests of the cluster after", dest="new"),
            *_IMPACTS,
        ),
        (
            ("compare two folders of manifests", "gpuc diff out-before/prod-use1 out/prod-use1"),
            ("compare a running cluster with manifests, for a program", "gpuc diff dump.yaml manifests/ --format json"),
        ),
        _PLAN,
    ),
    Command(
        "specs",
        "List the clusters of the fleet, or those whose files differ from a revision.",
        "specs_command:run_specs",
        (
            Argument(
                "--changed REV|DIR",
                "only the clusters whose specs, layers, manifests, policies, catalog rows or output differ from a "
                "revision of the Git repository, or from the folder of another checkout",
            ),
            form("text", "json", subject="list"),
        ),
        (
            ("list the clusters and their spec files", "gpuc specs"),
            ("list the clusters that a branch changes", "gpuc specs --changed origin/main"),
            (
                "in CI: the matrix of the jobs that rehearse changed clusters",
                "gpuc specs --changed HEAD^1 --format json",
            ),
        ),
    ),
    Command(
        "lint",
        "Check Kubernetes YAML from other sources: files, folders, cluster dumps and Helm values.",
        "lint_command:run_lint",
        (
            Argument(
                "PATH...", "a YAML file, - for stdin, or a folder whose objects are checked together", dest="paths"
            ),
            Argument("--kubernetes VERSION", "the minor version of the cluster (default: 1.35)"),
            Argument(
                "--chart NAME=VERSION",
                "treat YAML documents that are not Kubernetes objects as values of this Helm chart",
            ),
            Argument("--crds DIR", "a folder of schemas from `gpuc crds import`", type="folder"),
            form("text", "json", "github"),
            _STRICT,
        ),
        (
            ("check a file and a folder", "gpuc lint job.yaml manifests/"),
            ("check the objects of a running cluster", "kubectl get jobs,pods -A -o yaml | gpuc lint -"),
            ("check the values of a Helm chart", "gpuc lint --chart gpu-operator values.yaml"),
            ("check custom resources with imported definitions", "gpuc lint --crds crds manifests/"),
        ),
        _FINDINGS,
    ),
    Command(
        "trace",
        "Predict whether a pod will be scheduled: admission, quota, flavor, node pool and node.",
        "trace_command:run_trace",
        (
            Argument("[SPEC|PATH...]", "a spec, or manifests (default: the only spec in specs/)", dest="inputs"),
            Argument("-f, --file FILE", "trace the workloads in this file: Pod, Job, JobSet and so on"),
            Argument("--queue NAME", "the LocalQueue of the workload"),
            Argument("--namespace NAME", "the namespace (default: the first with the LocalQueue)"),
            Argument("--pool NAME", "the flavor that the pods select (default: Kueue chooses)"),
            Argument("--priority NAME", "the WorkloadPriorityClass of the workload"),
            Argument("--gpus N", "the nvidia.com/gpu request of each pod", type="number"),
            Argument("--efa N", "the number of EFA interfaces of each pod", type="number"),
            Argument("--cpu QUANTITY", "the CPU request of each pod (default: from the LimitRange)"),
            Argument("--memory QUANTITY", "the memory request of each pod (default: from the LimitRange)"),
            Argument("--resource NAME=QUANTITY...", "the request of another resource; may be repeated"),
            Argument("--pods N", "the number of pods (default: 1)", type="number"),
            form("text", "json"),
        ),
        (
            ("predict one pod with 8 GPUs in a queue of the only cluster", "gpuc trace --queue research --gpus 8"),
            ("predict the workloads in a file", "gpuc trace prod-use1 -f job.yaml"),
            (
                "predict 16 pods on one node pool",
                "gpuc trace prod-use1 --queue research --pool train-h100 --gpus 8 --pods 16",
            ),
            ("read the objects from manifests instead of a spec", "gpuc trace cluster-dump/ -f job.yaml"),
        ),
        exit_codes("all workloads would be scheduled in an empty cluster", "a step of a workload fails")
        + """
  4  no step fails, but gpuc could not judge a step, or could not read a part of the files

The trace assumes that no other workload uses quota or nodes. So a workload that fails here would fail in every cluster
with these objects, but a workload that passes may still have to wait for others.""",
    ),
    Command(
        "isolation",
        "Prove that no pod of a tenant can reach a pod of another tenant over the network.",
        "isolation_command:run_isolation",
        (
            Argument(
                "[SPEC|PATH...]",
                "a spec, a cluster name, or manifest files and folders (default: specs/)",
                dest="inputs",
            ),
            form("text", "json"),
            Argument("--tenant-label KEY", "the namespace label with the tenant's name (default: gpuc.dev/tenant)"),
            Argument("--pod-cidrs CIDR,...", "the IP ranges of pods, for manifest files; a spec declares its own"),
        ),
        (
            ("prove the isolation of tenants in all clusters", "gpuc isolation"),
            ("prove it for one cluster, for a program", "gpuc isolation prod-use1 --format json"),
            (
                "prove it for manifests of a cluster without spec",
                "gpuc isolation cluster-dump/ --tenant-label team --pod-cidrs 10.0.0.0/16",
            ),
        ),
        exit_codes(
            "no pod of a tenant can reach a pod of another tenant, except declared exceptions",
            "a pod can reach a pod of another tenant, or an assumption of the proof is false or unproven",
        ),
    ),
    Command(
        "prerequisites",
        "List what a cluster needs from outside of the output, with commands that check it.",
        "prerequisites_command:run_prerequisites",
        (
            Argument("[SPEC]", "a spec or a cluster name (default: the only cluster)", dest="spec"),
            form("text", "json", subject="list"),
        ),
        (
            ("list what the cluster needs before the first sync", "gpuc prerequisites prod-use1"),
            ("print it for a program", "gpuc prerequisites prod-use1 --format json"),
        ),
        "The commands change nothing. gpuc does not run them.\n\n"
        + exit_codes("the list is complete", "the spec has errors"),
    ),
)
