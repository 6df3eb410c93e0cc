"""Read, cut and embed documents, and bring indexes up to date."""
