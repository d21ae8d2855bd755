"""Impacts on the delivery with Argo CD: refused, pruned and remaining objects, order and steps."""
