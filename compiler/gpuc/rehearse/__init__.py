"""The rehearsal: the real control plane runs what a spec compiles to, on this machine, before anyone merges it."""
