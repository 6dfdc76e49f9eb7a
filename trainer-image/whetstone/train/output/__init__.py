"""The results of a job: its output directory, its adapter with manifest, and reports to the worker."""
