"""Emitters: the resolved cluster in, plain data out, one module per component."""
