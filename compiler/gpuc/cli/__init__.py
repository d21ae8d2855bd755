"""The command line: a module for each command of gpuc, and the modules that parse arguments."""
