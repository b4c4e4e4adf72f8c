"""Records workers with nsys, gathers the reports and sums them up."""
