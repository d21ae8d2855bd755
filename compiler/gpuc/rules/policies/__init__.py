"""Rules for policies: names, settings and stages."""
