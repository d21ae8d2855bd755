"""The kinds of KubeRay: RayCluster, RayJob and RayService."""
