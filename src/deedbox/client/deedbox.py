# Written by scripts/client.py from the OpenAPI document: change it there.
"""The client itself."""

from functools import cached_property

from deedbox.client.calls.authority import AsyncAuthorityCalls, AuthorityCalls
from deedbox.client.calls.bulk_sends import AsyncBulkSendsCalls, BulkSendsCalls
from deedbox.client.calls.documents import AsyncDocumentsCalls, DocumentsCalls
from deedbox.client.calls.embeddings import AsyncEmbeddingsCalls, EmbeddingsCalls
from deedbox.client.calls.hooks import AsyncHooksCalls, HooksCalls
from deedbox.client.calls.keys import AsyncKeysCalls, KeysCalls
from deedbox.client.calls.mails import AsyncMailsCalls, MailsCalls
from deedbox.client.calls.operations import AsyncOperationsCalls, OperationsCalls
from deedbox.client.calls.packets import AsyncPacketsCalls, PacketsCalls
from deedbox.client.calls.search import AsyncSearchCalls, SearchCalls
from deedbox.client.calls.signer import AsyncSignerCalls, SignerCalls
from deedbox.client.calls.templates import AsyncTemplatesCalls, TemplatesCalls
from deedbox.client.calls.verification import AsyncVerificationCalls, VerificationCalls
from deedbox.client.calls.workspace import AsyncWorkspaceCalls, WorkspaceCalls
from deedbox.client.connection import AsyncConnection, Connection


class Deedbox(Connection):
    """Every operation of a Deedbox server, by subject; this one waits for each answer.

    Without arguments, DEEDBOX_URL and DEEDBOX_API_KEY of the environment name the server and the key."""

    @cached_property
    def documents(self) -> DocumentsCalls:
        """Documents sent to be signed: made, sent, followed, and fetched when they are sealed."""
        return DocumentsCalls(self)

    @cached_property
    def packets(self) -> PacketsCalls:
        """Several documents for the same people: one link, one consent, one act of signing."""
        return PacketsCalls(self)

    @cached_property
    def templates(self) -> TemplatesCalls:
        """Files, roles and fields of which documents are made, in versions."""
        return TemplatesCalls(self)

    @cached_property
    def bulk_sends(self) -> BulkSendsCalls:
        """One template, a document for each row of a table."""
        return BulkSendsCalls(self)

    @cached_property
    def signer(self) -> SignerCalls:
        """What the signing page asks and tells, for one signer."""
        return SignerCalls(self)

    @cached_property
    def verification(self) -> VerificationCalls:
        """Whether a file is what was sealed here."""
        return VerificationCalls(self)

    @cached_property
    def hooks(self) -> HooksCalls:
        """Webhooks, their deliveries, and the events that they tell of."""
        return HooksCalls(self)

    @cached_property
    def keys(self) -> KeysCalls:
        """API keys, and who the caller is."""
        return KeysCalls(self)

    @cached_property
    def workspace(self) -> WorkspaceCalls:
        """What the workspace tells of itself to those who get its documents."""
        return WorkspaceCalls(self)

    @cached_property
    def mails(self) -> MailsCalls:
        """The log of mails to signers and senders, without what they say."""
        return MailsCalls(self)

    @cached_property
    def search(self) -> SearchCalls:
        """Documents to be searched: uploaded, indexed and queried."""
        return SearchCalls(self)

    @cached_property
    def embeddings(self) -> EmbeddingsCalls:
        """Vectors of texts."""
        return EmbeddingsCalls(self)

    @cached_property
    def authority(self) -> AuthorityCalls:
        """Timestamps, certificates and revocation lists."""
        return AuthorityCalls(self)

    @cached_property
    def operations(self) -> OperationsCalls:
        """For those who run the server."""
        return OperationsCalls(self)


class AsyncDeedbox(AsyncConnection):
    """Every operation of a Deedbox server, by subject; this one is for asyncio.

    Without arguments, DEEDBOX_URL and DEEDBOX_API_KEY of the environment name the server and the key."""

    @cached_property
    def documents(self) -> AsyncDocumentsCalls:
        """Documents sent to be signed: made, sent, followed, and fetched when they are sealed."""
        return AsyncDocumentsCalls(self)

    @cached_property
    def packets(self) -> AsyncPacketsCalls:
        """Several documents for the same people: one link, one consent, one act of signing."""
        return AsyncPacketsCalls(self)

    @cached_property
    def templates(self) -> AsyncTemplatesCalls:
        """Files, roles and fields of which documents are made, in versions."""
        return AsyncTemplatesCalls(self)

    @cached_property
    def bulk_sends(self) -> AsyncBulkSendsCalls:
        """One template, a document for each row of a table."""
        return AsyncBulkSendsCalls(self)

    @cached_property
    def signer(self) -> AsyncSignerCalls:
        """What the signing page asks and tells, for one signer."""
        return AsyncSignerCalls(self)

    @cached_property
    def verification(self) -> AsyncVerificationCalls:
        """Whether a file is what was sealed here."""
        return AsyncVerificationCalls(self)

    @cached_property
    def hooks(self) -> AsyncHooksCalls:
        """Webhooks, their deliveries, and the events that they tell of."""
        return AsyncHooksCalls(self)

    @cached_property
    def keys(self) -> AsyncKeysCalls:
        """API keys, and who the caller is."""
        return AsyncKeysCalls(self)

    @cached_property
    def workspace(self) -> AsyncWorkspaceCalls:
        """What the workspace tells of itself to those who get its documents."""
        return AsyncWorkspaceCalls(self)

    @cached_property
    def mails(self) -> AsyncMailsCalls:
        """The log of mails to signers and senders, without what they say."""
        return AsyncMailsCalls(self)

    @cached_property
    def search(self) -> AsyncSearchCalls:
        """Documents to be searched: uploaded, indexed and queried."""
        return AsyncSearchCalls(self)

    @cached_property
    def embeddings(self) -> AsyncEmbeddingsCalls:
        """Vectors of texts."""
        return AsyncEmbeddingsCalls(self)

    @cached_property
    def authority(self) -> AsyncAuthorityCalls:
        """Timestamps, certificates and revocation lists."""
        return AsyncAuthorityCalls(self)

    @cached_property
    def operations(self) -> AsyncOperationsCalls:
        """For those who run the server."""
        return AsyncOperationsCalls(self)
