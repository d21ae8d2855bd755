"""Modules about the nodes of substrates in a rehearsal. A module has the name of the substrate's folder."""
