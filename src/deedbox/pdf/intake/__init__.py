"""Turn files from outside into PDFs that can be shown, marked and sealed."""
