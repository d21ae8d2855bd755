"""The compiler: the stages for one spec, the compile of all specs of a command, and the stored results."""
