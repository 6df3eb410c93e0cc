"""The long-term archive: every completed document is packed, authenticated and pushed by itself, until it is there."""
