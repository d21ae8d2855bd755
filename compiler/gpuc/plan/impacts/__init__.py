"""The impacts of a change, with a folder for each topic. Each function finds one impact, for example "a queue is new".

The case file FUNCTION.yaml has one spec before the change and several specs after the change. The tests check all
cases, and `gpuc explain` shows them as examples.
"""
