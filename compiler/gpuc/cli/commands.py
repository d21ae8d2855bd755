"""The commands of gpuc, in the order of `gpuc --help`."""

from __future__ import annotations

from collections.abc import Iterator

from gpuc.cli.cluster_commands import CLUSTER_COMMANDS
from gpuc.cli.command import SPECS, Argument, Command, exit_codes, form, formats

CATALOG_SOURCE = "aws ec2 describe-instance-types"
"""The source of rows that `gpuc catalog import` prints, without --source."""


def _init_arguments() -> Iterator[Argument]:
    from gpuc.cli.init_settings import Settings, questions

    yield Argument("[FOLDER]", "the repository (default: .)", dest="directory", default=".")
    yield Argument("--minimal", "write a spec with one node pool, without tenants, queues and policies")
    for question in questions():
        default = getattr(Settings, question.field)
        text = f"{question.text}: {question.expected}" + f" (default: {default})" * bool(default)
        yield Argument(f"{question.option} {question.metavar}", text)


def _tools_arguments() -> Iterator[Argument]:
    from gpuc.tools.selection import OTHERS

    for name, selection in OTHERS.items():
        text = f"instead of the control plane: {selection.purpose}"
        yield Argument(f"--{name}", text, dest="selection", const=name)
    yield Argument("--list", "build nothing; list the programs, versions and sizes", dest="is_list")
    yield Argument("--where", "build nothing; print the folder of the programs")


def _help_arguments() -> Iterator[Argument]:
    yield Argument("[COMMAND]", "a command of gpuc", tuple(COMMANDS), dest="command")


_ALL = (
    *CLUSTER_COMMANDS,
    Command(
        "crds",
        "Import CustomResourceDefinitions, so that lint can check objects of these kinds.",
        "crds_command:run_crds",
        (
            Argument("import", "the only command", ("import",), dest="command"),
            Argument("FILE|DIR...", "a YAML or JSON file, or a folder", dest="paths"),
            Argument(
                "--into DIR",
                "the folder for the schemas (default: crds/); schemas of the same kind and version are replaced",
                type="path",
            ),
        ),
        (
            (
                "import the definitions of a running cluster",
                "kubectl get crd -o yaml > crds.yaml && gpuc crds import crds.yaml",
            ),
            ("import a folder into another folder", "gpuc crds import vendor/ --into schemas"),
        ),
        """The files contain CustomResourceDefinitions, for example the output of `kubectl get crd -o yaml`. DIR
gets a schema file for each served version. `gpuc lint --crds DIR` then checks objects of these kinds against the schema
and its CEL rules. Lint does not evaluate transition rules (`oldSelf`) and rules with functions that gpuc does not
implement, and does not check the cost of rules. The import lists the rules that lint does not evaluate.""",
        "gpuc crds import FILE|DIR... [--into DIR]",
    ),
    Command(
        "catalog",
        "List, search and show what gpuc knows: instance types, GPUs, images, versions, prices.",
        "catalog_command:run_catalog",
        (
            Argument("[WORD...]", "a subject, words to search, `show NAME`, `import FILE`", dest="words"),
            form("text", "json", subject="list"),
            Argument("--source TEXT", f"import: the source of the rows (default: {CATALOG_SOURCE})"),
        ),
        (
            ("list the GPUs", "gpuc catalog gpus"),
            ("list the instance types with a GPU", "gpuc catalog instance-types h100"),
            ("print everything about an instance type", "gpuc catalog show p5.48xlarge"),
            ("write rows for instance types that gpuc does not know", "gpuc catalog import types.json"),
            (
                "write prices, for example of another region",
                "aws pricing get-products --service-code AmazonEC2 --filters ... | gpuc catalog import -",
            ),
        ),
        """without WORD     list everything that gpuc knows, by subject; instance types by family
WORD             list a subject (for example gpus), or all entries that contain the words
show NAME        print one entry: an instance type, a GPU with its MIG profiles, an image, a release set, ...
import FILE      print rows for specs/catalog/ from the output of `aws ec2 describe-instance-types`, or prices from
                 that of `aws pricing get-products` (- for stdin)

In a fleet, the rows of specs/catalog/ are included and marked with *.""",
    ),
    Command(
        "rehearse",
        "Apply the compiled output to a real control plane on this machine and test it.",
        "rehearse_command:run_rehearsal",
        (
            SPECS,
            Argument(
                "--crds DIR",
                "a folder of CustomResourceDefinitions that replace those of the components",
                type="folder",
            ),
            Argument(
                "--case PATTERN...",
                "run only test cases whose 'suite/name' matches the glob or contains the text; may be repeated",
            ),
            Argument("--scene PATTERN...", "", dest="case"),  # the old name of --case
            Argument("--keep", "keep the control plane running until Ctrl-C, for kubectl"),
            Argument(
                "--argocd",
                "let Argo CD apply the output from a Git repository, and test edits of the specs instead of the test "
                "cases; requires `gpuc tools --argocd`",
            ),
            Argument(
                "--charts DIR",
                "with --argocd: a folder of charts from `helm pull`; Applications whose chart is missing are skipped",
                type="folder",
            ),
            Argument(
                "--from REV|DIR",
                "apply the specs of a revision or folder, fill them with work, apply the present specs, and report "
                "what happens to each node and workload",
                dest="before",
            ),
            Argument(
                "--workloads DIR",
                "with --from: objects of users that run before the change, instead of work that fills the quotas",
                type="folder",
            ),
            *formats("text", "json", "markdown"),
        ),
        (
            ("apply the output of one cluster to a control plane and test it", "gpuc rehearse prod-use1"),
            ("run some test cases", "gpuc rehearse prod-use1 --case 'preemption/*'"),
            ("keep the control plane for kubectl", "gpuc rehearse prod-use1 --keep"),
            ("let Argo CD apply the output", "gpuc rehearse prod-use1 --argocd"),
            ("observe what a change does to running work", "gpuc rehearse prod-use1 --from HEAD"),
        ),
        exit_codes(
            "all objects were applied and are healthy, and every test case passed",
            "an object was rejected or is not healthy, or a test case failed",
            "the command line is wrong, or a program of the control plane is missing",
            "gpuc itself or a program of the control plane failed",
        )
        + "\n\nWith --from, the exit code is 0 when the observation has ended.",
    ),
    Command(
        "tools",
        "Build the programs of the rehearsal from source, with Go.",
        "tools_command:run_tools",
        _tools_arguments,
        (
            ("build the programs of gpuc rehearse", "gpuc tools"),
            ("list the programs and their versions", "gpuc tools --list"),
            ("build Argo CD too", "gpuc tools --argocd"),
        ),
        """Without an option, the command builds the control plane of `gpuc rehearse`. This takes a quarter of
an hour once, and requires Go, a Go module proxy (by default that of the Go project), and 15 GiB of disk. The command
builds only missing programs.
The programs are in the cache folder of the user, or in the folder that the environment variable GPUC_TOOLS names.

"""
        + exit_codes("the programs are ready", "a program cannot be built, or does not start", failed=""),
    ),
    Command(
        "schema",
        "Print the JSON Schema of the spec, for editors.",
        "init:run_schema",
        (
            Argument(
                "[of]",
                "the schema of specs (default), of the files in specs/catalog/, or of the JSON report of plan and diff",
                ("spec", "catalog", "plan"),
                default="spec",
            ),
        ),
        (
            ("write the schema for the editor", "gpuc schema > gpuc.schema.json"),
            ("write the schema of specs/catalog/", "gpuc schema catalog > gpuc.catalog.schema.json"),
            ("print the schema of the JSON report of gpuc plan", "gpuc schema plan"),
        ),
    ),
    Command(
        "explain",
        "Explain a rule with examples, or a field of the spec. Without an argument, list all rules.",
        "explain_command:run_explain",
        (
            Argument(
                "[SUBJECT]",
                "the id of a rule such as KUE007, or a field of the spec such as pools.nodes.max",
                dest="subject",
            ),
        ),
        (
            ("explain the rule of a finding", "gpuc explain KUE007"),
            ("explain a field of the spec", "gpuc explain pools.nodes.max"),
            ("list all rules", "gpuc explain"),
        ),
    ),
    Command(
        "init",
        "Write the files of a repository with one small cluster, and of its CI workflows.",
        "init_command:run_init",
        _init_arguments,
        (
            ("ask for the settings, and write a repository into a new folder", "gpuc init fleet"),
            (
                "write it without questions",
                "gpuc init fleet --name dev-use1 --region us-east-1 --requirement gpuc==0.1.0",
            ),
            ("start with one node pool, without tenants", "gpuc init fleet --minimal"),
        ),
        """On a terminal, the command asks for options that are missing. Otherwise it uses their defaults.
Files that exist are not changed.""",
    ),
    Command(
        "completion",
        "Print the script with which bash, zsh or fish completes the arguments of gpuc.",
        "completion:run_completion",
        (Argument("shell", "the shell", ("bash", "zsh", "fish")),),
        (
            ("complete in this shell", 'eval "$(gpuc completion bash)"'),
            ("install for fish", "gpuc completion fish > ~/.config/fish/completions/gpuc.fish"),
        ),
        """installation:
  bash  add this line to ~/.bashrc:
          eval "$(gpuc completion bash)"
  zsh   add this line to ~/.zshrc, after compinit:
          eval "$(gpuc completion zsh)"
  fish  run these commands once:
          mkdir -p ~/.config/fish/completions
          gpuc completion fish > ~/.config/fish/completions/gpuc.fish

The shell completes commands, options, values of options, files and folders. The script asks gpuc for the words, so it
stays correct when gpuc is updated.""",
    ),
    Command(
        "help",
        "Show the commands of gpuc, or the arguments of a command.",
        "overview:run_help",
        _help_arguments,
        (
            ("list the commands", "gpuc help"),
            ("show the arguments of a command", "gpuc help compile"),
        ),
    ),
    Command(
        "version",
        "Print the version of gpuc.",
        "overview:run_version",
        examples=(("print the version of gpuc", "gpuc version"),),
    ),
)
COMMANDS = {command.name: command for command in _ALL}
"""The commands by name."""
