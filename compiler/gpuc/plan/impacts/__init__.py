"""The impacts by topic. A folder is a topic, a function is one impact, and its case file has its name."""
