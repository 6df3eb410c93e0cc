"""Chunks with their vectors, and the logs that indexes follow."""
