"""Its tool servers."""
