"""Examples for the API's description, all of one small story: Ana signs a lease, and it is sealed.

An answer is put together from its schema: a field shows the value that SAMPLES has for it, else one of its type.
What a caller sends is written out, by the route's function."""

import base64
from typing import Any

from deedbox.kernel.tokens import TokenPrefix

_ID = "01JD00000000000000000000"
_TIME, _LATER = "2026-03-01T12:00:00Z", "2026-03-02T09:30:00Z"
_SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_NAME, _EMAIL, _TITLE, _FILE = "Ana", "ana@example.com", "Lease, 4 Mill Lane", "lease.pdf"
_TEXT = "The tenant pays the rent on the first day of each month."
_URL = "https://example.com/deedbox"
_PDF = base64.b64encode(
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>> endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<<>>>> endobj\n"
    b"xref\n0 4\n0000000000 65535 f \n0000000009 00000 n \n0000000053 00000 n \n0000000103 00000 n \n"
    b"trailer<</Root 1 0 R/Size 4>>\nstartxref\n181\n%%EOF\n"
).decode()
"""One empty page: enough to be sent, signed and sealed."""
_COLLECTED: dict[str, Any] = {"count": 1, "has_more": False, "next_cursor": None}


def id_of(prefix: str) -> str:
    """The id of the story's one record with this prefix."""
    return f"{prefix}_{_ID}00"


PATHS: dict[str, tuple[str, str]] = {
    "bulk_send_id": ("The bulk send's id.", id_of("blk")),
    "code": ("The verification code, as the certificate prints it.", "K7QF-2M9X-HT4B-8WRN"),
    "delivery_id": ("The delivery's id.", id_of("dlv")),
    "doc_id": ("The id of a document of the search API.", id_of("upl")),
    "document_id": ("The id of a document of the signing API.", id_of("doc")),
    "field_id": ("The id of a field that asks for a file.", id_of("fld")),
    "file_id": ("The id of one of the files to sign.", id_of("fil")),
    "hook_id": ("The webhook's id.", id_of("hook")),
    "job_id": ("The id of an index run.", id_of("job")),
    "key_id": ("The API key's id.", id_of("key")),
    "mail_id": ("The mail's id.", id_of("mail")),
    "member_id": ("The person's id, or the invitation's.", id_of("inv")),
    "name": ("`root`, `issuing` or an authority's id, then the ending that the route names.", "root"),
    "packet_id": ("The id of a packet of documents.", id_of("pkt")),
    "page": ("The page's number, from 1, and `.webp`.", "1.webp"),
    "signer_id": ("The signer's id.", id_of("sgn")),
    "template_id": ("The template's id.", id_of("tpl")),
}
"""What a path names: its meaning and an example."""

SAMPLES: dict[str, Any] = {
    **_COLLECTED,
    "Act.act": "key.created",
    "Act.at": _TIME,
    "Act.by_id": id_of("per"),
    "Act.by_name": "Ann",
    "Act.id": id_of("act"),
    "Act.subject_id": id_of("key"),
    "Act.subject_name": "Billing",
    "Acted.status": "signed",
    "BulkSendRecord.id": id_of("blk"),
    "BulkSendRecord.language": None,
    "BulkSendRecord.name": "Leases of Mill Lane",
    "BulkSendRecord.rows_per_minute": 600,
    "BulkSendRecord.status": "completed",
    "BulkSendRecord.template_id": id_of("tpl"),
    "BulkSendRecord.title": None,
    "Counts.canceled": 0,
    "Counts.failed": 0,
    "Counts.queued": 0,
    "Flaw.column": "Tenant.email",
    "Flaw.reason": "not an e-mail address",
    "Row.key": "flat-4",
    "Row.status": "sent",
    "Archive.status": "archived",
    "ArchiveReceipt.version": None,
    "AuditEntry.act": "signed",
    "AuditEntry.actor": id_of("sgn"),
    "AuditEntry.at": _LATER,
    "AuditEntry.detail": {"identity": "mailed_link"},
    "Certificate.subject": "CN=Acme Homes",
    "ChunkPlace.page": 1,
    "Delivery.id": id_of("dlv"),
    "Delivery.status": "delivered",
    "DeliveryDetail.id": id_of("dlv"),
    "DeliveryDetail.status": "delivered",
    "DocumentArchive.status": "archived",
    "DocumentRecord.id": id_of("doc"),
    "DocumentRecord.status": "completed",
    "EmbeddingList.model": "all-MiniLM-L6-v2",
    "EventBody.data": {"document_id": id_of("doc"), "title": _TITLE, "status": "completed", "sha256": _SHA256},
    "EventBody.id": id_of("evt"),
    "EventBody.timestamp": _LATER,
    "EventKind.sample": {"id": id_of("evt"), "type": "document.completed"},
    "EventKind.schema": {"type": "object"},
    "Failure.error": "No extractable text",
    "Field.id": id_of("fld"),
    "Field.type": "signature",
    "FileRecord.id": id_of("fil"),
    "FileRecord.name": _FILE,
    "FileRecord.signatures": [],
    "Hook.id": id_of("hook"),
    "Inclusion.day": "2026-03-02",
    "Inclusion.timestamp": None,
    "Indexed.message": "1 of 1 documents are indexed.",
    "Indexed.status": "success",
    "Info.model": "hybrid-bm25-dense-v1",
    "KeyRecord.id": id_of("key"),
    "KeyRecord.name": "Billing",
    "KeyRecord.rate_limit": None,
    "KeyRecord.collections": None,
    "MadeKey.collections": None,
    "MailRecord.about": id_of("doc"),
    "MailRecord.id": id_of("mail"),
    "MailRecord.kind": "invitation",
    "MailRecord.status": "sent",
    "MailRecord.subject": None,
    "MailRecord.to": _EMAIL,
    "MailRecord.tried_at": _TIME,
    "MadeInvitation.email": "ben@example.com",
    "MadeInvitation.id": id_of("inv"),
    "MadeInvitation.link": f"https://sign.example.com/join/{TokenPrefix.INVITATION}2nVq0F3c8mYt5uK1xB7sWz4rGd6hJpL9",
    "MadeInvitation.mailed": True,
    "MadeInvitation.name": None,
    "MadeInvitation.role": "sender",
    "MadeInvitation.since": "2026-03-01T12:00:00Z",
    "MadeInvitation.status": "invited",
    "MemberRecord.email": "ann@example.com",
    "MemberRecord.expires_at": None,
    "MemberRecord.id": id_of("per"),
    "MemberRecord.name": "Ann",
    "MemberRecord.role": "owner",
    "MemberRecord.since": "2026-03-01T12:00:00Z",
    "MemberRecord.status": "member",
    "MadeHook.id": id_of("hook"),
    "MadeKey.id": id_of("key"),
    "MadeKey.key": TokenPrefix.API_KEY + 2 * "0123456789abcdef",
    "MadeKey.name": "Billing",
    "MadeKey.rate_limit": None,
    "PacketDocument.id": id_of("doc"),
    "PacketDocument.status": "completed",
    "PacketRecord.id": id_of("pkt"),
    "PacketRecord.status": "completed",
    "PacketRecord.title": "Papers for a move",
    "PartyRecord.id": id_of("pty"),
    "PartyRecord.name": "Tenant",
    "PartyRecord.quorum": None,
    "PartyRecord.status": "completed",
    "QueryAnswer.query": "When is the rent due?",
    "QueryAnswer.corrected": "When is the rent due?",
    "QueryAnswer.receipt": "eyJhbGciOiJFUzI1NiJ9.eyJxdWVyeSI6InJlbnQifQ.TWF5IGJlIGNoZWNrZWQ",
    "QueryAnswer.receipt_timestamp": "MIIC4wYJKoZIhvcNAQcCoIIC1DCC",
    "AnswerRecord.query": "When is the rent due?",
    "AnswerRecord.answer": "The tenant pays the rent on the first day of each month. [1]",
    "AnswerRecord.found": True,
    "AnswerRecord.complete": True,
    "AnswerRecord.model": "llama3.1:8b",
    "Sentence.text": _TEXT,
    "Sentence.citations": [1],
    "Sentence.supported": True,
    "Sentence.reason": None,
    "Quote.passage": 1,
    "Quote.text": "pays the rent on the first day",
    "RotatedHook.id": id_of("hook"),
    "Run.id": id_of("job"),
    "Run.result": None,
    "Run.status": "running",
    "SessionAttachment.name": "passport.pdf",
    "SessionDocument.id": id_of("doc"),
    "SessionDocument.status": "sent",
    "SessionFile.id": id_of("fil"),
    "SessionFile.name": _FILE,
    "SessionPacket.id": id_of("pkt"),
    "SessionPacket.status": "sent",
    "SessionPacket.title": "Papers for a move",
    "SessionPacketDocument.files": [id_of("fil")],
    "SessionPacketDocument.id": id_of("doc"),
    "SessionPacketDocument.status": "sent",
    "SessionPacketDocument.to_read": False,
    "SessionParty.name": "Tenant",
    "SessionRecord.needs": None,
    "SessionSigner.id": id_of("sgn"),
    "SessionSigner.status": "viewed",
    "Signature.level": "PAdES B-LT",
    "Signature.signer": "Acme Homes",
    "SignerRecord.id": id_of("sgn"),
    "SignerRecord.status": "signed",
    "SigningLink.expires_at": "2026-03-01T13:00:00Z",
    "WorkspaceUsage.by": "day",
    "WorkspaceUsage.measured_at": _LATER,
    "UsageSlot.slot": "2026-03-01",
    "SigningLink.url": f"https://sign.example.com/s/{_ID}",
    "StatsRecord.chunks": 3,
    "StatsRecord.documents": 1,
    "Role.name": "Tenant",
    "Role.quorum": None,
    "Role.role": "signer",
    "Role.signers": 1,
    "TemplateField.file": id_of("fil"),
    "TemplateField.id": id_of("fld"),
    "TemplateField.party": "Tenant",
    "TemplateField.signer": None,
    "TemplateField.type": "signature",
    "TemplateRecord.id": id_of("tpl"),
    "TemplateRecord.name": "Lease",
    "TemplateRecord.status": "ready",
    "TemplateRecord.version": 1,
    "UploadRecord.status": "indexed",
    "Uploaded.message": "Document uploaded and parsed. Call POST /documents/index to build the search index.",
    "Verification.verdict": "authentic",
    "Vouched.code": PATHS["code"][1],
    "Vouched.status": "completed",
    "VouchedSigner.party": "Tenant",
    "VouchedSigner.status": "signed",
    "Workspace.id": id_of("wsp"),
    "Workspace.name": "Acme Homes",
    "AccentShown.dark": "#5e8b80",
    "AccentShown.darkened": False,
    "AccentShown.light": "#1f5c4d",
    "WorkspaceProfile.accent": "#1f5c4d",
    "WorkspaceProfile.embed_sites": ["https://app.example.com"],
    "WorkspaceProfile.id": id_of("wsp"),
    "WorkspaceProfile.logo": None,
    "WorkspaceProfile.name": "Acme Homes",
    "added": [],
    "answer": None,
    "attachments": [],
    "api_version": "v1",
    "archived_at": _LATER,
    "auth": "none",
    "bulk_send_id": None,
    "canceled_at": None,
    "certificate_fingerprint": _SHA256,
    "char_end": len(_TEXT),
    "char_start": 0,
    "chunk_id": f"{id_of('upl')}_chunk_0",
    "chunk_index": 0,
    "chunk_overlap": 40,
    "chunk_size": 200,
    "completed_at": _LATER,
    "compression_ratio": 32,
    "consecutive_failures": 0,
    "consent_text": "I agree to sign electronically.",
    "created_at": _TIME,
    "created_by": id_of("key"),
    "decline": None,
    "decline_reason": None,
    "declined_at": None,
    "default": None,
    "degraded": False,
    "delegated_to": None,
    "delegation": False,
    "delivered_at": _LATER,
    "description": "Tells the billing system",
    "dimensions": 384,
    "disabled_reason": None,
    "doc_id": id_of("upl"),
    "document": None,
    "document_id": id_of("doc"),
    "document_status": "finalizing",
    "documents_skipped": 0,
    "duration_ms": 84,
    "earlier_sha256": [],
    "effective_at": _LATER,
    "elapsed_ms": 12.4,
    "elapsed_seconds": 1.8,
    "email": _EMAIL,
    "embedding": [0.0127, -0.0345],
    "embedding_dimensions": 384,
    "embedding_model": "all-MiniLM-L6-v2",
    "encoding_format": "float",
    "error": None,
    "etag": None,
    "event": "document.completed",
    "event_id": id_of("evt"),
    "events": ["document.completed"],
    "expired_at": None,
    "expires_after_hours": 336,
    "expires_at": None,
    "external_id": "lease-4711",
    "failed": [],
    "failed_at": None,
    "field": id_of("fld"),
    "file": id_of("fil"),
    "filename": _FILE,
    "finished_at": None,
    "font_size": None,
    "group": None,
    "h": 0.05,
    "hash": _SHA256,
    "heading": "Rent",
    "hex_embedding": "80",
    "highlights": [[4, 10]],
    "hint": None,
    "hook_id": id_of("hook"),
    "identity": "mailed_link",
    "index": 0,
    "index_size": 3,
    "indexed_at": _LATER,
    "issuer": "CN=Deedbox issuing authority",
    "label": "Signature of the tenant",
    "language": "en",
    "last4": "cdef",
    "last_error": None,
    "last_failure_at": None,
    "last_success_at": _LATER,
    "last_used_at": _LATER,
    "level": "B-LT",
    "location": f"file:///srv/archive/{id_of('doc')}.zip",
    "managed_by": "api",
    "manifest_sha256": _SHA256,
    "max_length": None,
    "meaning": "The sealed file can be downloaded.",
    "media_type": "application/pdf",
    "message": None,
    "metadata": {"flat": "4"},
    "collection": "leases",
    "name": _NAME,
    "next_attempt_at": None,
    "not_after": "2036-03-01T12:00:00Z",
    "notified_at": _TIME,
    "on_decline": "decline_document",
    "options": [],
    "outcome": None,
    "packet_id": None,
    "part": "document",
    "party": None,
    "party_id": id_of("pty"),
    "path": [_SHA256],
    "pattern": None,
    "phase": "embedding",
    "position": 0,
    "prefix": TokenPrefix.API_KEY.value,
    "read_only": False,
    "reason": None,
    "reasons": [],
    "reminders": None,
    "removed": [],
    "request_body": f'{{"id":"{id_of("evt")}","type":"document.completed"}}',
    "request_headers": {"X-Service-Event": "document.completed"},
    "response_body": "",
    "response_headers": {"Content-Length": "0"},
    "response_status": 200,
    "response_truncated": False,
    "revoked_at": None,
    "role": "signer",
    "root": _SHA256,
    "scopes": ["documents:read"],
    "secret": TokenPrefix.HOOK + 2 * "MDEyMzQ1Njc4OWFi",
    "sender_email": "office@example.com",
    "sender_name": "Bo",
    "sent_at": _TIME,
    "serial": "5f3c",
    "sha256": _SHA256,
    "show_if": None,
    "signature_scheme": "timestamped",
    "signed_at": _LATER,
    "signed_input": "refuse",
    "signer": id_of("sgn"),
    "signer_id": id_of("sgn"),
    "signing_time": _LATER,
    "size_bytes": 18_211,
    "sizes": [[595.0, 842.0]],
    "stale": False,
    "started_at": _LATER,
    "statement": '{"day":"2026-03-02","size":1}',
    "sub_filter": "ETSI.CAdES.detached",
    "target_url": _URL,
    "template_id": None,
    "template_version": None,
    "text": _TEXT,
    "text_length": 2140,
    "hidden_length": 0,
    "tier": "professional",
    "time_zone": "Europe/Berlin",
    "timestamp": _TIME,
    "timestamp_time": _LATER,
    "title": _TITLE,
    "total_chunks": 3,
    "type": "document.completed",
    "updated_at": _LATER,
    "value": None,
    "verification_code": PATHS["code"][1],
    "version": "0.1.0",
    "viewed_at": _LATER,
    "void": None,
    "voided_at": None,
    "w": 0.3,
    "x": 0.1,
    "y": 0.8,
}
"""The value of a field, by its name, or by its struct's and its own where the name alone does not tell."""

_SIGNER = {"name": _NAME, "email": _EMAIL}
REQUESTS: dict[str, Any] = {
    "create_bulk_send": {
        "name": "Leases of Mill Lane",
        "template_id": id_of("tpl"),
        "rows": [{"key": "flat-4", "roles": {"Tenant": {"name": _NAME, "email": _EMAIL}}, "values": {"Flat": "4"}}],
        "rows_per_minute": 600,
    },
    "create_document": {
        "title": _TITLE,
        "file": {"name": _FILE, "content_base64": _PDF},
        "signers": [_SIGNER],
        "fields": [{"type": "signature", "signer": _EMAIL, "page": 1, "x": 0.1, "y": 0.8, "w": 0.3, "h": 0.05}],
        "metadata": {"flat": "4"},
        "external_id": "lease-4711",
        "send": True,
    },
    "create_packet": {
        "title": "Papers for a move",
        "documents": [
            {"title": _TITLE, "file": {"name": _FILE, "content_base64": _PDF}},
            {"title": "Rules of the house", "file": {"name": "rules.pdf", "content_base64": _PDF}, "fields": []},
        ],
        "signers": [_SIGNER],
        "send": True,
    },
    "change_packet": {"title": "Papers for the move", "metadata": {"flat": "5"}},
    "void_packet": {"reason": "The wrong flat"},
    "file_document": {"collection": "leases", "metadata": {"year": 2027}},
    "change_document": {"title": "Lease, 5 Mill Lane", "metadata": {"flat": "5"}},
    "create_template": {
        "name": "Lease",
        "file": {"name": _FILE, "content_base64": _PDF},
        "roles": [{"name": "Tenant"}],
        "fields": [{"type": "signature", "party": "Tenant", "page": 1, "x": 0.1, "y": 0.8, "w": 0.3, "h": 0.05}],
        "expires_after_hours": 336,
    },
    "change_template": {"name": "Lease, from 2027 on", "metadata": {"flat": "5"}},
    "void_document": {"reason": "The wrong flat"},
    "create_key": {"name": "Billing", "scopes": ["documents:read"], "expires_at": "2036-03-01T12:00:00Z"},
    "change_key": {"name": "Billing, until it is replaced"},
    "change_workspace": {"name": "Acme Homes", "sender_name": "Bo", "notices": True},
    "invite_member": {"role": "sender", "email": "ben@example.com"},
    "change_member": {"role": "viewer"},
    "create_hook": {"target_url": _URL, "events": ["document.completed", "document.declined"]},
    "change_hook": {"events": ["document.completed"], "description": "Tells the billing system"},
    "test_hook": {},
    "rotate_hook": {"at_once": True},
    "recover_hook": {"since": _TIME},
    "build_index": {},
    "ask": {"query": "When is the rent due?", "top_k": 3},
    "answer": {"query": "When is the rent due?"},
    "embed": {"text": _TEXT},
    "embed_and_quantize": {"text": _TEXT},
    "openai_embeddings": {"input": [_TEXT]},
    "code": {"code": "482913"},
    "keep_fields": {"values": {id_of("fld"): "4 Mill Lane"}},
    "complete": {"consent": True, "signature": {"kind": "typed", "text": _NAME}},
    "decline": {"reason": "The rent is another than agreed"},
    "delegate": {"name": "Bo", "email": "bo@example.com", "reason": "Bo signs leases"},
    "correct_packet_signer": {"email": "ana@mail.example.com", "language": "pt"},
    "correct_signer": {"email": "ana@mail.example.com", "language": "pt"},
}
"""What a caller sends, by the function that takes it."""

FORMS: dict[str, Any] = {
    "bulk_send": f'{{"name": "Leases of Mill Lane", "template_id": "{id_of("tpl")}"}}',
    "create_bulk_send.file": "key,Tenant.name,Tenant.email,value:Flat\nflat-4,Ana,ana@example.com,4\n",
    "file": _TEXT,
    "collection": "leases",
    "metadata": '{"year": 2026, "kind": "lease"}',
    "create_packet.document": '{"title": "Papers for a move", "documents": [{"title": "Lease, 4 Mill Lane",'
    ' "files": [{"name": "lease.pdf"}]}], "signers": [{"name": "Ana", "email": "ana@example.com"}]}',
    "document": '{"title": "Lease, 4 Mill Lane", "signers": [{"name": "Ana", "email": "ana@example.com"}]}',
    "create_template.document": '{"name": "Lease", "roles": [{"name": "Tenant"}]}',
}
"""The parts of a form, by their names, or by the function that takes them and their names."""

CONTENTS = {
    "application/pdf": "%PDF-1.7 …",
    "text/plain": _TEXT,
}
"""The beginning of what is not JSON, by its media type."""


BYTES = "…"
"""Stands for what no text can show."""


def request(function: str, media_type: str, schema: dict[str, Any]) -> Any:
    """An example of what a caller sends to the route of this function; None where there is none."""
    if media_type == "application/json":
        return REQUESTS.get(function)
    if "properties" not in schema:
        return BYTES
    parts = {name: FORMS.get(f"{function}.{name}", FORMS.get(name)) for name in schema["properties"]}
    return {name: [part] if schema["properties"][name]["type"] == "array" else part for name, part in parts.items()}


def answer(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """An example of what this schema describes."""
    return _made(schema, schemas, "", "")


def _made(schema: dict[str, Any], schemas: dict[str, Any], owner: str, name: str) -> Any:
    for key in (f"{owner}.{name}", name):
        if key in SAMPLES and _fits(SAMPLES[key], schema):
            return SAMPLES[key]
    if "$ref" in schema:
        inner = schema["$ref"].rpartition("/")[2]
        return {each: _made(of, schemas, inner, each) for each, of in schemas[inner].get("properties", {}).items()}
    if "anyOf" in schema:
        return _made(schema["anyOf"][0], schemas, owner, name)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [_made(schema["items"], schemas, owner, "")]
    return _PLAIN[schema.get("type", "object")]


UNTOLD = "…"
"""Stands where SAMPLES has no value for a text; a test refuses it."""
_PLAIN: dict[str, Any] = {"boolean": True, "integer": 1, "number": 0.5, "object": {}, "string": UNTOLD}
_KINDS: dict[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value could be one of these: names such as `signer` mean a record in one struct, an id in another."""
    if "anyOf" in schema:
        return any(_fits(value, each) for each in schema["anyOf"])
    if "$ref" in schema:
        return False
    if "enum" in schema:
        return value in schema["enum"]
    if isinstance(value, list) and schema.get("items"):
        return all(_fits(each, schema["items"]) for each in value)
    return isinstance(value, _KINDS[schema["type"]]) if "type" in schema else True
