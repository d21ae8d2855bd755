"""Evaluates CEL expressions as Kubernetes does.

The engine is cel-expr-python. This is Google's C++ implementation with the standard library, strings and optional
values. The module functions.py adds the functions of Kubernetes that the shipped policies and the pinned CRDs call.
gpuc does not evaluate an expression that calls any other function: the result then contains the name of this function.
"""
