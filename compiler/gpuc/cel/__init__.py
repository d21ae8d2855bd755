"""Evaluates CEL expressions in the same way as Kubernetes.

The engine is the package cel-expr-python, which is Google's C++ implementation with the standard library, strings and
optional values. The module functions.py adds the functions of Kubernetes that the policies of gpuc and the
CustomResourceDefinitions call. gpuc does not evaluate an expression that calls any other function: the result then
contains the name of this function.
"""
