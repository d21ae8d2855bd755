"""Customization: applies the Helm values and the patches of the spec to the artifacts that the emitters return.

Emitters return the same artifacts with and without customizations. All checks of the output run after the
customization. The artifacts contain the spec path of every customized value, so the findings of these checks are at the
line of the user.
"""
