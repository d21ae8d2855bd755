"""The compiler: its stages for one spec, the run over all specs, and the compile cache."""
