"""What emitters make and later stages read: objects, Helm values, files."""
