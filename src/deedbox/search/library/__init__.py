"""The library of a workspace: its documents, their versions, collections and metadata."""
