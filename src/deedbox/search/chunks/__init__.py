"""What indexes are made from: chunks with their vectors, and the logs that say which of them answer."""
