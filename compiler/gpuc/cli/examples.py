"""The examples in the help of each command: pairs of a comment and a command line."""

from __future__ import annotations

EXAMPLES = {
    "compile": (
        ("compile all clusters in specs/", "gpuc compile"),
        ("compile one cluster", "gpuc compile prod-use1"),
        ("write the output into another folder, to compare it", "gpuc compile --into /tmp/new"),
        ("print only errors and warnings, for example in a script", "gpuc compile --quiet"),
    ),
    "check": (
        ("check all clusters in specs/", "gpuc check"),
        ("check one cluster; warnings are errors too", "gpuc check --strict specs/prod-use1.yaml"),
        ("in CI: also report committed output that a compile would change", "gpuc check --fresh --format github"),
        ("print the report and write it to a file for code scanning", "gpuc check --output sarif=gpuc.sarif"),
    ),
    "plan": (
        ("compare the specs with the merge base of HEAD and the default branch of origin", "gpuc plan"),
        ("compare one cluster with a revision", "gpuc plan prod-use1 --against HEAD~1"),
        (
            "in CI: write a comment, and fail if data, work or capacity is lost",
            "gpuc plan --output markdown=plan.md --fail-on destroys",
        ),
        ("also show which running workloads new policies would refuse", "gpuc plan --workloads cluster-dump/"),
    ),
    "diff": (
        ("compare two folders of manifests", "gpuc diff out-before/prod-use1 out/prod-use1"),
        ("compare a running cluster with manifests, for a program", "gpuc diff dump.yaml manifests/ --format json"),
    ),
    "specs": (
        ("list the clusters and their spec files", "gpuc specs"),
        ("list the clusters that a branch changes", "gpuc specs --changed origin/main"),
        ("in CI: the matrix of the jobs that rehearse changed clusters", "gpuc specs --changed HEAD^1 --format json"),
    ),
    "lint": (
        ("check a file and a folder", "gpuc lint job.yaml manifests/"),
        ("check the objects of a running cluster", "kubectl get jobs,pods -A -o yaml | gpuc lint -"),
        ("check the values of a Helm chart", "gpuc lint --chart gpu-operator values.yaml"),
        ("check custom resources with imported definitions", "gpuc lint --crds crds manifests/"),
    ),
    "trace": (
        ("predict one pod with 8 GPUs in a queue of the only cluster", "gpuc trace --queue research --gpus 8"),
        ("predict the workloads in a file", "gpuc trace prod-use1 -f job.yaml"),
        (
            "predict 16 pods on one node pool",
            "gpuc trace prod-use1 --queue research --pool train-h100 --gpus 8 --pods 16",
        ),
        ("read the objects from manifests instead of a spec", "gpuc trace cluster-dump/ -f job.yaml"),
    ),
    "isolation": (
        ("prove the isolation of tenants in all clusters", "gpuc isolation"),
        ("prove it for one cluster, for a program", "gpuc isolation prod-use1 --format json"),
        (
            "prove it for manifests of a cluster without spec",
            "gpuc isolation cluster-dump/ --tenant-label team --pod-cidrs 10.0.0.0/16",
        ),
    ),
    "prerequisites": (
        ("list what the cluster needs before the first sync", "gpuc prerequisites prod-use1"),
        ("print it for a program", "gpuc prerequisites prod-use1 --format json"),
    ),
    "crds": (
        (
            "import the definitions of a running cluster",
            "kubectl get crd -o yaml > crds.yaml && gpuc crds import crds.yaml",
        ),
        ("import a folder into another folder", "gpuc crds import vendor/ --into schemas"),
    ),
    "catalog": (
        ("list the GPUs", "gpuc catalog gpus"),
        ("list the instance types with a GPU", "gpuc catalog instance-types h100"),
        ("print everything about an instance type", "gpuc catalog show p5.48xlarge"),
        ("write rows for instance types that gpuc does not know", "gpuc catalog import types.json"),
        (
            "write prices, for example of another region",
            "aws pricing get-products --service-code AmazonEC2 --filters ... | gpuc catalog import -",
        ),
    ),
    "rehearse": (
        ("apply the output of one cluster to a control plane and test it", "gpuc rehearse prod-use1"),
        ("run some test cases", "gpuc rehearse prod-use1 --case 'preemption/*'"),
        ("keep the control plane for kubectl", "gpuc rehearse prod-use1 --keep"),
        ("let Argo CD apply the output", "gpuc rehearse prod-use1 --argocd"),
        ("observe what a change does to running work", "gpuc rehearse prod-use1 --from HEAD"),
    ),
    "tools": (
        ("build the programs of gpuc rehearse", "gpuc tools"),
        ("list the programs and their versions", "gpuc tools --list"),
        ("build Argo CD too", "gpuc tools --argocd"),
    ),
    "schema": (
        ("write the schema for the editor", "gpuc schema > gpuc.schema.json"),
        ("write the schema of specs/catalog/", "gpuc schema catalog > gpuc.catalog.schema.json"),
        ("print the schema of the JSON report of gpuc plan", "gpuc schema plan"),
    ),
    "explain": (
        ("explain the rule of a finding", "gpuc explain KUE007"),
        ("explain a field of the spec", "gpuc explain pools.nodes.max"),
        ("list all rules", "gpuc explain"),
    ),
    "init": (
        ("ask for the settings, and write a repository into a new folder", "gpuc init fleet"),
        (
            "write it without questions",
            "gpuc init fleet --name dev-use1 --region us-east-1 --requirement gpuc==0.1.0",
        ),
        ("start with one node pool, without tenants", "gpuc init fleet --minimal"),
    ),
    "completion": (
        ("complete in this shell", 'eval "$(gpuc completion bash)"'),
        ("install for fish", "gpuc completion fish > ~/.config/fish/completions/gpuc.fish"),
    ),
    "help": (
        ("list the commands", "gpuc help"),
        ("show the arguments of a command", "gpuc help compile"),
    ),
    "version": (("print the version of gpuc", "gpuc version"),),
}
"""The examples by command. A test parses each command line; only `gpuc` and what follows it is parsed."""
