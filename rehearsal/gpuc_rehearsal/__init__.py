"""The rehearsal: applies the compiled objects of a spec to a control plane on this machine, before a merge."""
