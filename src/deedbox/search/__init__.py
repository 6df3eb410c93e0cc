"""Takes documents in, indexes them and answers questions about them."""
