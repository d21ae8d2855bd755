"""CEL expressions as Kubernetes evaluates them.

The engine is cel-expr-python, Google's own in C++. It has the standard library, strings and optional values;
functions.py adds those functions of Kubernetes that the shipped policies and the pinned definitions call. An expression
that calls another one is not evaluated, and the answer names the function.
"""
