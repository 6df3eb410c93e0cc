"""Bounds of `deedbox.usage`, by name; those that several packages share are in `kernel.limits`."""

# background
USAGE_SHOWN_DAYS = 30
USAGE_SHOWN_MONTHS = 12
USAGE_DAYS = 400
"""For so long the figures of a day are kept: longer than the pages show."""
USAGE_DAY_SETTLES_SECONDS = 3600
"""So long after its end a day is kept as counted: no transaction that was begun on it lasts longer."""
