"""Parties, their signers, and the fields that they fill."""
