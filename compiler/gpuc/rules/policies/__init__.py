"""Rules for the admission policies in a spec: names, settings and rollout stages."""
