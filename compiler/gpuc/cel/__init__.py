"""Evaluates CEL expressions as Kubernetes does.

The engine is cel-expr-python, which is Google's C++ implementation with the standard library, strings and optional
values. functions.py adds the functions of Kubernetes that the shipped policies and the pinned CRDs call. gpuc does not
evaluate an expression that calls any other function; the result then contains the name of the function.
"""
