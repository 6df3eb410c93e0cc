"""What is done with PDF files: pure functions, bytes in and bytes out; untrusted files meet them only in sandboxes."""
