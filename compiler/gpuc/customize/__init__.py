"""Customization: applies the Helm values and patches that users write in the spec to the output of the emitters.

Emitters return the same artifacts (objects, Helm values and texts) with and without customizations. All checks of the
output run after the customization. The artifacts contain the spec path of every customized value, so the findings of
these checks are at the line of the user.
"""
