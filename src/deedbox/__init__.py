"""Deedbox: sends documents to be signed, seals and proves them, and answers questions about them."""

VERSION = "0.1.0"
