"""The component `efa`: the device plugin for the Elastic Fabric Adapter (EFA), a network interface of AWS for NCCL."""
