"""Our code in the processes of a run: copied into the cluster, standard library only, Python 3.9 and later."""
