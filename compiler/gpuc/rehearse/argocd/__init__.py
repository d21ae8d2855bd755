"""The real Argo CD beside a rehearsal's control plane: the fleet in Git, the charts, and what plays the rest."""
