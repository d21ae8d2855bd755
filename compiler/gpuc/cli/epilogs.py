"""The texts at the end of the help of the commands: exit codes and explanations."""

from __future__ import annotations

EXIT_CODES = """exit codes:
  0  no errors (with --strict: no errors and no warnings)
  1  errors (with --strict: errors or warnings)
  2  the command line is wrong
  3  gpuc itself failed"""
PLAN = """The levels of impacts, the most dangerous first:
  destroys   data, running work or capacity is lost
  disrupts   nodes are replaced, work is evicted, or admission stops
  restricts  something that was possible is refused or waits longer
  costs      money
  none       nothing that runs is disturbed
`gpuc explain ID` explains an impact. To accept an impact, write `accept: {ID: reason}` into the spec.

exit codes:
  0  the report is complete
  1  an impact has the level of --fail-on, or a spec has errors
  2  the command line is wrong, or the state before cannot be read
  3  gpuc itself failed"""
REHEARSAL_EXIT_CODES = """exit codes:
  0  all objects were applied and are healthy, and every test case passed
  1  an object was rejected or is not healthy, or a test case failed
  2  the command line is wrong, or a program of the control plane is missing
  3  gpuc itself or a program of the control plane failed

With --from, the exit code is 0 when the observation has ended."""
INIT = """On a terminal, the command asks for options that are missing. Otherwise it uses their defaults.
Files that exist are not changed."""
TOOLS = """Without an option, the command builds the control plane of `gpuc rehearse`. This takes a quarter of
an hour once, and requires Go, a Go module proxy (by default that of the Go project), and 15 GiB of disk. The command
builds only missing programs.
The programs are in the cache folder of the user, or in the folder that the environment variable GPUC_TOOLS names.

exit codes:
  0  the programs are ready
  1  a program cannot be built, or does not start
  2  the command line is wrong"""
CATALOG = """without WORD     list everything that gpuc knows, by subject; instance types by family
WORD             list a subject (for example gpus), or all entries that contain the words
show NAME        print one entry: an instance type, a GPU with its MIG profiles, an image, a release set, ...
import FILE      print rows for specs/catalog/ from the output of `aws ec2 describe-instance-types`, or prices from
                 that of `aws pricing get-products` (- for stdin)

In a fleet, the rows of specs/catalog/ are included and marked with *."""
TRACE = """exit codes:
  0  all workloads would be scheduled in an empty cluster
  1  a step of a workload fails
  2  the command line is wrong
  3  gpuc itself failed
  4  no step fails, but gpuc could not judge a step, or could not read a part of the files

The trace assumes that no other workload uses quota or nodes. So a workload that fails here would fail in every cluster
with these objects, but a workload that passes may still have to wait for others."""
ISOLATION_EXIT_CODES = """exit codes:
  0  no pod of a tenant can reach a pod of another tenant, except declared exceptions
  1  a pod can reach a pod of another tenant, or an assumption of the proof is false or unproven
  2  the command line is wrong
  3  gpuc itself failed"""
PREREQUISITES_EXIT_CODES = """The commands change nothing. gpuc does not run them.

exit codes:
  0  the list is complete
  1  the spec has errors
  2  the command line is wrong
  3  gpuc itself failed"""
CRDS = """The files contain CustomResourceDefinitions, for example the output of `kubectl get crd -o yaml`. DIR
gets a schema file for each served version. `gpuc lint --crds DIR` then checks objects of these kinds against the schema
and its CEL rules. Lint does not evaluate transition rules (`oldSelf`) and rules with functions that gpuc does not
implement, and does not check the cost of rules. The import lists the rules that lint does not evaluate."""
COMPLETION = """installation:
  bash  add this line to ~/.bashrc:
          eval "$(gpuc completion bash)"
  zsh   add this line to ~/.zshrc, after compinit:
          eval "$(gpuc completion zsh)"
  fish  run these commands once:
          mkdir -p ~/.config/fish/completions
          gpuc completion fish > ~/.config/fish/completions/gpuc.fish

The shell completes commands, options, values of options, clusters, rules, subjects of the catalog, files and folders.
The script asks gpuc for the words, so it stays correct when gpuc is updated."""
