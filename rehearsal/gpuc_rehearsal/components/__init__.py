"""Modules that start the programs of components in a rehearsal. A module has the name of the component's folder."""
