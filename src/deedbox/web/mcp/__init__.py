"""The tools for assistants over HTTP, where the extra `mcp` is installed."""
