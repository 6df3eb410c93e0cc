"""Indexes in PostgreSQL: vectors by pgvector, postings in a table, both changed in the transaction of the document."""
