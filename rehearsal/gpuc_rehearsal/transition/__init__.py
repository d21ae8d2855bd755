"""`gpuc rehearse --from`: applies a state, fills it with work, applies the next state, and reports what happened."""
