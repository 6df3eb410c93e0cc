"""Every page of those who are signed in."""

from typing import Any

from deedbox.web.dashboard import (
    account,
    bulk,
    bulk_new,
    document,
    document_acts,
    files,
    join,
    library,
    mail,
    new,
    passkeys,
    people,
    reset,
    review,
    sessions,
    signer,
    sketch,
    welcome,
)
from deedbox.web.dashboard import documents as document_pages
from deedbox.web.dashboard import search as search_page
from deedbox.web.dashboard import usage as usage_page
from deedbox.web.dashboard.settings import archive as archive_settings
from deedbox.web.dashboard.settings import audit, branding, certificates, hook_moves, sending
from deedbox.web.dashboard.settings import deliveries as delivery_pages
from deedbox.web.dashboard.settings import hooks as hook_pages
from deedbox.web.dashboard.settings import keys as key_pages
from deedbox.web.dashboard.settings import limits as limits_page
from deedbox.web.dashboard.settings import members as member_pages

ROUTES: list[Any] = [
    *account.ROUTES,
    *archive_settings.ROUTES,
    *audit.ROUTES,
    *branding.ROUTES,
    *bulk.ROUTES,
    *bulk_new.ROUTES,
    *certificates.ROUTES,
    *delivery_pages.ROUTES,
    *document.ROUTES,
    *document_acts.ROUTES,
    *document_pages.ROUTES,
    *files.ROUTES,
    *hook_moves.ROUTES,
    *hook_pages.ROUTES,
    *join.ROUTES,
    *key_pages.ROUTES,
    *library.ROUTES,
    *limits_page.ROUTES,
    *mail.ROUTES,
    *member_pages.ROUTES,
    *new.ROUTES,
    *passkeys.ROUTES,
    *people.ROUTES,
    *reset.ROUTES,
    *review.ROUTES,
    *search_page.ROUTES,
    *sending.ROUTES,
    *sessions.ROUTES,
    *signer.ROUTES,
    *sketch.ROUTES,
    *usage_page.ROUTES,
    *welcome.ROUTES,
]
