"""The commands `gpuc rehearse` and `gpuc tools`."""
