"""The jobs of one command: opened together, and where there are several, trained side by side in forked processes."""
