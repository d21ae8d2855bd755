"""Evaluates CEL expressions in the same way as Kubernetes.

The engine is the package cel-expr-python: Google's C++ implementation with the standard library, strings and optional
values. The module functions.py adds the functions of Kubernetes that the policies of gpuc and the pinned CRDs call. If
an expression calls any other function, gpuc does not evaluate it, and the result has the name of this function.
"""
