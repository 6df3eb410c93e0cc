"""Judge whether a PDF is what was sealed, and explain the verdict."""
