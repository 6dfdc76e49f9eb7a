"""Environments of others, behind the protocol. Each runs in a virtual environment that has the packages it imports."""
