"""Environments: the runtime that serves one inside the jail, and the client that opens it."""
