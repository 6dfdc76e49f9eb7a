"""The loss of one optimiser step: which tokens count, how they pass through the model, and when training must stop."""
