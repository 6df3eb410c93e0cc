# Written by scripts/client.py from the OpenAPI document: change it there.
"""The calls, one for each operation of the API, by subject."""
