"""Code that runs in other processes: of the user, of Ray, on nodes."""
