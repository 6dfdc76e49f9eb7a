"""What a job leaves: its output directory, the hash of its adapter, and reports to the worker."""
