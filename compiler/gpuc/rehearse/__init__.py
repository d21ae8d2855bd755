"""The rehearsal: applies the output of a spec to a real control plane on this machine, before the change is merged."""
