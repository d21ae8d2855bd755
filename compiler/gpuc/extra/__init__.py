"""Kubernetes objects that users write in specs/<cluster>/manifests/: reads them, checks them and creates Applications.

Files at the top of the folder are objects of the platform. Files in a subfolder with the name of a tenant are objects
of this tenant: Argo CD applies them with an AppProject that allows only the namespaces of the tenant.
"""
