"""Pages as pictures and as text, with the place of each line."""
