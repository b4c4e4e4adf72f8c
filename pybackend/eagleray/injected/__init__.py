"""What the processes of a debuggable run carry: copied into the cluster, standard library only, Python 3.9 and later."""
