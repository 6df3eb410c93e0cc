# Written by scripts/client.py from the OpenAPI document: change it there.
"""The structs that calls take, by subject."""
