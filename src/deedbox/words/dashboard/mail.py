"""The mails of a workspace."""

WORDS = {
    "no_mails": "No mail yet. What signers and you are told stands here once a document is sent.",
    "mail_inbox": "Kept here",
    "mail_queued": "Waiting to be sent",
    "mail_sent": "Sent",
    "mail_failed": "Could not be sent",
    "all_mails": "All mails",
    "mail_to": "To",
    "attached": "Attached:",
    "open_link": "Open the link of this mail",
    "their_link": "It is {person}'s own link: whoever opens it acts in their name.",
    "mail_gone": "Only mails that stayed here, because no mail server is set, can be read, for {days} days.",
}
