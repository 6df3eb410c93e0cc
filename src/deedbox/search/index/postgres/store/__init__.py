"""The tables of the indexes in PostgreSQL. They are derived, and made where the setting asks for them.

A chunk is known by its ordinal: the next number of its index when it came, given once."""
