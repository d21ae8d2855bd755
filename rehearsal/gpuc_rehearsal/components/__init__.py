"""A module for each component whose program a rehearsal can run. The module has the name of the component."""
