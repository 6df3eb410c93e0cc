"""Work on PDF files: pure functions, bytes in and bytes out. Files from outside are opened in sandboxes only."""
