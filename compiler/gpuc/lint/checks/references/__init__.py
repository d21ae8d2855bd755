"""References between objects: references to missing objects, and objects that nothing refers to."""
