"""Kinds with pods that gpuc reads, but does not trace."""
