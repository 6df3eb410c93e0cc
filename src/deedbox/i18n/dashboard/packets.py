"""Packets: documents that are signed together."""

WORDS = {
    "packets_lead": "Several documents for the same people, with one link and one signature step.",
    "packets_none": "No packets yet. Create one to have the same people sign several documents at once.",
    "packets_none_found": "No packet title contains this text.",
    "packets_new": "New packet",
    "packets_all": "All packets",
    "packets_find": "Find a packet",
    "packets_find_label": "Part of its title",
    "packets_count": "{count} documents",
    "packets_count_one": "1 document",
    "packets_done_deleted": "Draft deleted.",
    "packets_files": "Documents",
    "packets_zip": "Download all (ZIP)",
    "packets_events": "Activity",
    "packets_of": "of",
}
