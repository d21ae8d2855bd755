"""`gpuc rehearse --from`: applies the state before, starts work, applies the change, and reports what happened."""
