"""How a workspace looks to those who get its documents."""

WORDS = {
    "branding_lead": "What people see who get your documents: on the pages where they sign, in mails and on"
    " certificates.",
    "branding_name": "Name of the company",
    "branding_name_hint": "In whose name documents are sent. Documents that were sent keep the name they were sent"
    " under.",
    "branding_sender": "Who asks",
    "branding_sender_hint": "A person or a team, such as Mara. Left empty, the company itself asks.",
    "branding_address": "Address for replies",
    "branding_address_hint": "Replies to your mails and your notices go there. Left empty, to the owner.",
    "branding_notices": "Mail me when a document is completed, declined or expired, or cannot be prepared",
    "branding_own_colour": "A colour of our own",
    "branding_colour": "Colour",
    "branding_colour_hint": "Of buttons and links.",
    "branding_darkened": "This colour is too pale to be read on white paper. Pages and mails show {shown} instead of"
    " {given}.",
    "branding_sites": "Sites that may show signing in a frame",
    "branding_sites_hint": "One on each line, with scheme and host: https://app.example.com. Left empty, none.",
    "branding_preview": "What a signer sees first",
    "branding_preview_now": "Show it",
    "branding_sample_title": "Lease of the harbour office",
    "branding_sample_signer": "Ann",
    "branding_logo": "Logo",
    "branding_logo_hint": "PNG, JPEG or WebP, up to 2 MB. It is drawn anew, at most 512 pixels wide and high.",
    "branding_logo_file": "Picture",
    "branding_logo_now": "Your logo",
    "branding_logo_put": "Use this picture",
    "branding_logo_remove": "Remove the logo",
    "branding_logo_remove_ask": "Remove your logo?",
    "branding_logo_remove_means": "Pages and mails show the first letters of the name in its place.",
    "branding_done_saved": "Saved. Pages, mails and certificates follow from now on.",
    "branding_done_logo": "This is your logo from now on.",
    "branding_done_removed": "The logo is removed.",
}
