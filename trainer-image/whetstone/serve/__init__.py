"""Policy server: OpenAI-compatible chat completions over the engine."""
