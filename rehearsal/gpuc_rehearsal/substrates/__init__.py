"""A module for each substrate, the place where a cluster lives: how a rehearsal gets the nodes of this substrate."""
