"""Takes pictures: of processes of this machine, and of a whole cluster of Ray."""
