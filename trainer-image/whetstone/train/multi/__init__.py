"""The jobs of one command: opened together and, if there are several, trained in parallel in forked processes."""
