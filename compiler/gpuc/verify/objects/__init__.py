"""Objects beside one another, and what in them is empty."""
