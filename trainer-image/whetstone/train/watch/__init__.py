"""The watch over a training: short probes on the agent's own tasks, which stop it and choose its checkpoint."""
