"""Kinds with pods whose objects gpuc reads, but for which `gpuc trace` does not work."""
