"""A laboratory of several hosts on one machine: network namespaces, a switch in user space, and faults."""
