"""Bulk sends: one template, a document for each row of a table."""
