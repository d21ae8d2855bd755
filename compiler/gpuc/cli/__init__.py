"""The command line: a module for each command, and the modules that parse arguments."""
