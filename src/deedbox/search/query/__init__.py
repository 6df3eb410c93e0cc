"""Answer queries: parse the question, rank passages, count facets, sign receipts."""
