"""The impacts by topic. A folder is a topic, a function is one impact, and its case file has its name.

A case file has a state before and several states after. The cases are the tests, and what `gpuc explain` shows.
"""
