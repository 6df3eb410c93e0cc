"""Bounds of `deedbox.assistant`, by name; those that several packages share are in `kernel.limits`."""

from deedbox.kernel.limits import MB

# tools for assistants
TOOL_FILE_BYTES = 5 * MB
TOOL_PASSAGES = 50
TOOL_PASSAGES_DEFAULT = 5
TOOL_PAGE_CHARS = 40_000
"""Of a page at a time: what a model can read."""
TOOL_ITEMS = 100
TOOL_ITEMS_DEFAULT = 25
TOOL_MARK_CHARS = 16
