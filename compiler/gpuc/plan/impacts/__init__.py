"""The impacts by topic. A folder is a topic, and a module is one impact with a case file."""
