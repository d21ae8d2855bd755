"""Impacts on nodes: their number, their replacement and their MIG layouts."""
