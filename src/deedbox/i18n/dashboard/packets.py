"""Packets: documents that are signed together."""

WORDS = {
    "packets_lead": "Several documents, the same people, one link, one act.",
    "packets_none": "No packet yet. Put documents together that the same people sign at once.",
    "packets_none_found": "No packet has this in its title.",
    "packets_new": "New packet",
    "packets_all": "All packets",
    "packets_find": "Find a packet",
    "packets_find_label": "Part of its title",
    "packets_count": "{count} documents",
    "packets_count_one": "1 document",
    "packets_done_deleted": "The draft is deleted.",
    "packets_files": "Documents",
    "packets_zip": "Everything as zip",
    "packets_events": "What happened",
    "packets_of": "of",
}
