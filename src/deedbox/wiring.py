"""The one place where settings choose implementations. Server, worker and commands all start here."""

import asyncio
import contextlib
import fcntl
import functools
import os
import socket
import sqlite3
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import IO, TYPE_CHECKING, cast

from deedbox import VERSION, mail
from deedbox.accounts import sessions
from deedbox.accounts import store as accounts_store
from deedbox.archive.archive import ArchiveService
from deedbox.authority import ENCRYPTED_KEYS, Certificates, pkcs11, remote_timestamp
from deedbox.authority.remote_timestamp import RemoteTimestamper
from deedbox.kernel import idempotency, jobs, limits, log, outbox, rotation, tasks
from deedbox.kernel.blobs.choose import open_blobs
from deedbox.kernel.clock import Clock, DatabaseClock, SystemClock, instant, stopwatch
from deedbox.kernel.crypto import ValueCipher, create_key_file
from deedbox.kernel.db import NOTICES_MISSED, Database, Tx, health
from deedbox.kernel.db.migrate import migrate_postgres, migrate_sqlite
from deedbox.kernel.db.sqlite import SqliteDatabase
from deedbox.kernel.derived import Derived
from deedbox.kernel.errors import ServiceError, SetupError
from deedbox.kernel.in_flight import RequestsInFlight
from deedbox.kernel.jobs import Work
from deedbox.kernel.jobs import store as jobs_store
from deedbox.kernel.prune import prune_in_parts
from deedbox.kernel.ratelimit import RateLimiter
from deedbox.kernel.ratelimit.memory import MemoryLimiter
from deedbox.kernel.rotation import EncryptedColumn
from deedbox.kernel.settings import Settings
from deedbox.kernel.traces import SpanKind, Value, begin
from deedbox.mail import MAIL_JOB, Inbox, Mailer, Relay
from deedbox.pdf.pdf_sandbox import PdfSandbox
from deedbox.pdf.render.page_pictures import Pictures
from deedbox.people_mail import PeopleMail
from deedbox.search.answers.draft import Answers
from deedbox.search.endpoint import ModelEndpoint
from deedbox.search.engine import INDEX_JOB, REBUILD_JOB, SearchEngine
from deedbox.search.index.folders import IndexFolders
from deedbox.search.indexing import embedders, recover
from deedbox.search.indexing.embedders import Embedders
from deedbox.search.indexing.ingest import Ingest
from deedbox.search.indexing.renewal import FORGET_JOB, MODEL_CHOSEN, RENEW_JOB, Renewal
from deedbox.search.indexing.warm_indexes import warm_indexes
from deedbox.search.library.library import TextCache
from deedbox.search.query.rerank import open_reranker
from deedbox.search.snapshots import plan as snapshot_plan
from deedbox.search.snapshots.make import MakeSnapshots
from deedbox.search.snapshots.plan import SNAPSHOT_JOB
from deedbox.search.snapshots.take import TakeSnapshots
from deedbox.signing.action_context import SigningServices
from deedbox.signing.actions import expire, remind
from deedbox.signing.actions.convert import CONVERT_JOB, Conversion, DocumentPreparation
from deedbox.signing.actions.convert_template import CONVERT_TEMPLATE_JOB, TemplateConversion
from deedbox.signing.actions.expire import EXPIRE_JOB
from deedbox.signing.actions.remind import REMIND_JOB
from deedbox.signing.bulk import uploads
from deedbox.signing.bulk.accept import BULK_JOB
from deedbox.signing.bulk.model import ENCRYPTED_ROWS
from deedbox.signing.bulk.send_rows import SendRows
from deedbox.signing.completion.certify import Certifier
from deedbox.signing.completion.certify_packet import CERTIFY_PACKET_JOB, PacketCertification
from deedbox.signing.completion.finalize import FINALIZE_JOB, Finalize
from deedbox.signing.completion.rehearsal import Rehearsal
from deedbox.signing.completion.seal import Sealer
from deedbox.signing.completion.upgrade import UPGRADE_JOB, Upgrade
from deedbox.signing.first_pages import FirstPages
from deedbox.signing.preparation.intake import Intake
from deedbox.signing.store import links
from deedbox.signing.trail import VerifiedTrails
from deedbox.signing.wait_for_seal import COMPLETED, Awaited, notify_completion
from deedbox.signing_archive import DocumentArchiver, DocumentRecords, SigningAuthority
from deedbox.signing_mail import MailNotifier, look_of
from deedbox.signing_search import CompletedDocuments
from deedbox.usage import days, measure
from deedbox.webhooks import catalogue, deliveries, hooks, plan, queue
from deedbox.webhooks.attempt import DeliveryAttempts
from deedbox.webhooks.sender import DeliverySender

if TYPE_CHECKING:
    from deedbox.kernel.egress import Egress
    from deedbox.kernel.traces.export import Collector

_SERVER, _COMMAND = "server", "command"
"""Who has a data folder, as the file says that is locked."""
HOUSEKEEPING = "housekeeping"
DELIVERIES = "webhooks"
"""Deliveries to webhooks have a line of their own; to whoever chooses what a worker does they are one more kind."""
_OF_THE_OWN_INDEX = (REBUILD_JOB, SNAPSHOT_JOB)
"""Jobs that need an index of the process's own: servers run them, workers have none."""
ENCRYPTED_COLUMNS = [
    EncryptedColumn(
        table="idempotency",
        key_columns=("caller", "idempotency_key"),
        column="exchange",
        place="idempotency.exchange:{caller}/{idempotency_key}",
    ),
    ENCRYPTED_KEYS,
    mail.ENCRYPTED_MAIL,
    hooks.ENCRYPTED_SECRETS,
    ENCRYPTED_ROWS,
    uploads.ENCRYPTED_UPLOADS,
]
"""Every column whose values the box encrypts: `deedbox keys rotate-master` goes through them."""


class Installation:
    """An open installation: what its parts need, made from its settings."""

    def __init__(self, settings: Settings, clock: Clock, db: Database) -> None:
        self.settings = settings
        self.clock = clock
        self.db = db
        self.box = ValueCipher(settings.ring)
        self.blobs = open_blobs(settings)
        self.limiter = _limiter(db, clock)
        # Two containers may have one name, and each calls its process 1.
        worker = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
        self.traces = _traces(settings, clock, worker)
        self._egress: Egress | None = None
        self.address = settings.base_url or f"http://{settings.host}:{settings.port}"
        """Under which people reach this server."""
        self.mailer = Mailer(db, self.box, clock, Relay(settings), self.blobs, look_of)
        self.inbox = Inbox(self.box)
        self.people_mail = PeopleMail(lambda: self.mailer, lambda: self.address)
        self.workshop = PdfSandbox(
            settings.sandbox_processes, unconfined_converters=settings.converters == "unconfined"
        )
        self._token = pkcs11.chosen(settings)
        timestamp_roots = remote_timestamp.roots(settings.tsa_ca_file)
        self.certificates = Certificates(db, self.box, clock, settings.base_url, self._token, timestamp_roots)
        remote = RemoteTimestamper(settings.tsa_url, lambda: self.egress, clock) if settings.tsa_url else None
        self.under_way = RequestsInFlight()
        self.awaited = Awaited()
        self.services = self._services()
        self.paper_mill = DocumentPreparation(
            Intake(self.blobs, self.workshop, clock), Rehearsal(db, self.blobs, clock, self.workshop)
        )
        self.derived = Derived(settings.data_dir / "derived")
        self.pictures = Pictures(self.blobs, self.workshop, self.derived)
        self.first_pages = FirstPages(db, self.pictures)
        sealer = Sealer(self.blobs, self.workshop, self.certificates, clock, remote)
        certifier = Certifier(self.services, sealer)
        self.archive = self._archive(remote)
        self.search = self._search()
        self.answers = self._answers()
        self.snapshots = MakeSnapshots(self.search, self.blobs, settings.data_dir / "snapshots")
        self.ingest = Ingest(self.search, TextCache(db, self.blobs, self.search.extractor, clock, self.search.pages))
        self.renewal = Renewal(self.search, self.ingest.texts)
        self.completed_documents = CompletedDocuments(self.ingest)
        self.jobs = jobs.Runner(
            db,
            clock,
            self._handlers(sealer, certifier, remote),
            concurrency=settings.job_concurrency,
            worker=worker,
        )
        attempts = DeliveryAttempts(self.box, clock, lambda: self.egress, traces=self.traces)
        self.sender = DeliverySender(db, clock, attempts, worker=worker)
        self._look_at_model = asyncio.Event()
        self._react()
        self.checked_trails = VerifiedTrails()
        self.running_keys: set[tuple[str, str]] = set()
        """Callers' idempotency keys whose requests are under way in this process."""
        self.used_keys: dict[str, str] = {}
        """When each API key was last used, until it is written down."""
        self.seen_sessions: dict[str, str] = {}
        """On which day each login session was last in use, until it is written down."""
        self._warming: list[asyncio.Task[None]] = []
        self.stalled: dict[str, jobs.Backlog] = {}
        """The kinds of background work that nobody does, as far as the last look has shown."""

    def _handlers(
        self, sealer: Sealer, certifier: Certifier, remote: RemoteTimestamper | None
    ) -> dict[str, jobs.Handler]:
        """What is done for each kind of job."""
        handlers: dict[str, jobs.Handler] = {
            HOUSEKEEPING: self._keep_house,
            INDEX_JOB: self.ingest.run,
            RENEW_JOB: self.renewal.run,
            FORGET_JOB: self.renewal.forget,
            REBUILD_JOB: self.search.rebuild,
            SNAPSHOT_JOB: self.snapshots.run,
            CONVERT_JOB: Conversion(self.services, self.paper_mill).run,
            CONVERT_TEMPLATE_JOB: TemplateConversion(self.services, self.paper_mill).run,
            FINALIZE_JOB: Finalize(self.services, sealer, certifier).run,
            CERTIFY_PACKET_JOB: PacketCertification(self.services, certifier).run,
            UPGRADE_JOB: Upgrade(self.services, certifier, remote).run,
            EXPIRE_JOB: functools.partial(expire.run, self.services),
            REMIND_JOB: functools.partial(remind.run, self.services),
            BULK_JOB: SendRows(self.services, self.box).run,
            MAIL_JOB: self.mailer.deliver,
            **self.archive.handlers,
        }
        return handlers if self.traces is None else {kind: self._traced(kind, do) for kind, do in handlers.items()}

    def _traced(self, kind: str, handler: jobs.Handler) -> jobs.Handler:
        async def run(work: Work) -> None:
            about: dict[str, Value] = {"deedbox.job": work.job.id, "deedbox.attempt": work.job.attempts}
            with begin(self.traces, f"job {kind}", about, SpanKind.CONSUMER):
                await handler(work)

        return run

    def _react(self) -> None:
        """What one part does when something happens in another."""
        for kind in catalogue.KINDS:
            outbox.react(self.db, kind, plan.plan)
        outbox.react(self.db, "document.sent", self.first_pages.plan)
        outbox.react(self.db, "document.completed", self.completed_documents.react)
        outbox.react(self.db, "document.completed", notify_completion)
        self.db.listeners.add(COMPLETED, self.awaited.tell)
        for kind in days.EVENTS:
            outbox.react(self.db, kind, days.reopen)
        self.db.listeners.add(MODEL_CHOSEN, lambda _: self._look_at_model.set())
        self.db.listeners.add(NOTICES_MISSED, self._look_at_model.set)

    def _services(self) -> SigningServices:
        return SigningServices(
            db=self.db,
            blobs=self.blobs,
            clock=self.clock,
            workshop=self.workshop,
            certificates=self.certificates,
            notifier=MailNotifier(lambda: self.mailer, lambda: self.address),
            address=lambda: self.address,
            under_way=self.under_way,
        )

    def _archive(self, remote: RemoteTimestamper | None) -> DocumentArchiver:
        return DocumentArchiver(
            ArchiveService(
                db=self.db,
                blobs=self.blobs,
                clock=self.clock,
                settings=self.settings,
                workshop=self.workshop,
                records=DocumentRecords(self.clock),
                authority=SigningAuthority(self.certificates, self.clock, remote),
                egress=lambda: self.egress,
            )
        )

    def _search(self) -> SearchEngine:
        settings = self.settings
        known_embedders = Embedders(
            lambda: embedders.open_chosen(settings, lambda: self.egress),
            lambda recipe: embedders.open_former(settings, lambda: self.egress, recipe),
        )
        engine = SearchEngine(self.db, self.clock, settings, known_embedders)
        engine.reranker = open_reranker(settings, lambda: self.egress)
        if self._keeps_snapshots:
            folders = cast(IndexFolders, engine.indexes)
            engine.builds.snapshots = TakeSnapshots(self.db, self.blobs, self.clock, engine.builds, folders)
        return engine

    def _answers(self) -> Answers:
        url, model = self.settings.chat_url, self.settings.chat_model
        if url is None or model is None:
            return Answers(self.search, None)
        from deedbox.search.answers.chat import Chat  # loads the way out, which would slow every start

        return Answers(self.search, Chat(lambda: self.egress, ModelEndpoint(url, model, self.settings.chat_key)))

    @property
    def _keeps_snapshots(self) -> bool:
        """Whether a new machine finds everything but its index elsewhere: only then a snapshot of it is of use."""
        settings = self.settings
        return settings.database_url is not None and settings.blobs_url is not None and settings.index == "local"

    async def start(self, *, work: bool = True) -> None:
        """Begins what a server does beside answering; without `work`, workers do the jobs and the deliveries."""
        self._begin_traces()
        await self.db.listen()
        await self.limiter.start()
        if work:
            await self._begin_work()
            await self.jobs.start(alone=self.db.dialect == "sqlite")
            await self.sender.start(alone=self.db.dialect == "sqlite")
        else:
            await self.jobs.start(alone=False, kinds=_OF_THE_OWN_INDEX)
        self._loops = [
            tasks.begin(self._tidy_forever(), "pictures of deleted documents are no longer removed"),
            tasks.begin(self.first_pages.draw_forever(), "first pages are drawn when they are asked for"),
            tasks.begin(self._watch_forever(), "the server no longer looks at its background work and clock"),
            tasks.begin(self._note_use_forever(), "the use of keys and queries is no longer noted"),
            self._begin_following_model(),
        ]
        if self.db.dialect == "postgres":  # then other processes may read the indexes that this one writes
            following = self.search.follow_forever()
            self._loops.append(tasks.begin(following, "indexes are brought up at their questions only"))

    @property
    def worker_kinds(self) -> list[str]:
        """The kinds of work that a worker can do."""
        return [*(kind for kind in self.jobs.kinds if kind not in _OF_THE_OWN_INDEX), DELIVERIES]

    async def watch(self) -> None:
        """Looks once at what the server reports about itself."""
        await self._compare_clocks()
        stalled = {kind: one for kind, one in (await self.backlogs()).items() if one.is_stalled}
        for kind in stalled.keys() - self.stalled.keys():
            log.error("nobody does this kind of background work", kind=kind, due=stalled[kind].due)
        self.stalled = stalled

    @property
    def clock_ahead(self) -> float:
        """The seconds by which this machine's clock was ahead of the database's at the last look."""
        return self.clock.ahead if isinstance(self.clock, DatabaseClock) else 0.0

    async def _compare_clocks(self) -> None:
        """Takes the database's time from now on if this machine's clock is off, and says so."""
        clock = self.clock
        if not isinstance(clock, DatabaseClock) or self.db.dialect != "postgres":
            return
        was_off, began = clock.is_off, clock.machine_time()
        theirs = await self.db.read(health.database_time)
        # The database read its clock at some moment between the two: only what both agree on is a difference.
        clock.ahead = max(0.0, began - theirs) + min(0.0, clock.machine_time() - theirs)
        if clock.is_off and not was_off:
            log.error(
                "this machine's clock differs from the database's, whose time is used", ahead=round(clock.ahead, 1)
            )
        elif was_off and not clock.is_off:
            log.info("this machine's clock agrees with the database's again")

    async def _watch_forever(self) -> None:
        while True:
            with tasks.going_on("the background work and the clock cannot be looked at"):
                await self.watch()
            await asyncio.sleep(limits.WATCH_SECONDS)

    @property
    def retries(self) -> int:
        """How often a transaction on PostgreSQL began again because another was faster. SQLite has one writer."""
        return int(getattr(self.db, "retries", 0))

    async def backlogs(self) -> dict[str, jobs.Backlog]:
        """The open work of each kind that there is."""
        now = self.clock.now()
        found = await self.db.read_aside(lambda tx: {**jobs.backlogs(tx, now), DELIVERIES: queue.backlog(tx, now)})
        return {kind: found.get(kind, jobs.Backlog()) for kind in sorted({*self.jobs.kinds, *found})}

    async def start_worker(self, kinds: Collection[str]) -> None:
        """Begins the work of a worker, which answers nobody: of these kinds."""
        self.search.keeps_index = False
        self._begin_traces()
        await self.db.listen()
        await self._begin_work()
        if chosen := [kind for kind in self.jobs.kinds if kind in kinds]:
            await self.jobs.start(alone=False, kinds=chosen)
        if DELIVERIES in kinds:
            await self.sender.start(alone=False)
        watch = tasks.begin(self._watch_forever(), "the worker no longer looks at its background work and clock")
        self._loops = [watch, self._begin_following_model()]

    def _begin_traces(self) -> None:
        if self.traces is not None:
            self.traces.start()

    async def _begin_work(self) -> None:
        await self.db.write(lambda tx: self._schedule_housekeeping(tx, self.clock.now()))
        await self.archive.start()
        await recover.recover(self.search, alone=self.db.dialect == "sqlite")

    def _begin_following_model(self) -> asyncio.Task[None]:
        return tasks.begin(self._follow_choice_of_model(), "another model will be used after a restart only")

    async def stop(self) -> None:
        self.snapshots.stop()
        await tasks.end(*self._loops)
        await tasks.end(*self._warming)
        await asyncio.gather(self.jobs.stop(), self.sender.stop())
        await self._note_use()
        await self.search.times.flush()
        await self.limiter.close()

    async def close(self) -> None:
        """Ends what a command or a server has opened; the database is closed after it."""
        await self.archive.close()
        await self.answers.close()
        await self.search.close()
        await self.workshop.close()
        if self._token is not None:
            self._token.close()
        if self._egress is not None:
            await self._egress.close()
        await self.blobs.close()
        if self.traces is not None:
            await self.traces.close()

    @property
    def egress(self) -> "Egress":
        """The only way out; made when it is first needed, because loading it would slow every start."""
        if self._egress is None:
            from deedbox.kernel.egress import Egress

            self._egress = Egress(self.settings.egress_allow)
        return self._egress

    async def _follow_choice_of_model(self) -> None:
        # Beside the start, not in it: looking for the model loads modules that nothing else needs yet.
        changed = True
        while True:
            self._look_at_model.clear()
            try:
                changed = changed or await self.renewal.look_for_another_model()
                if changed:
                    await self.renewal.plan()
                    changed = False
                    self.jobs.wake()
                    if self.search.keeps_index:
                        await self._warm_indexes()
                    await self.search.warm()
                await self.completed_documents.catch_up()
            except ServiceError as error:
                log.warning("what another model made cannot be renewed", reason=error.message)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(limits.MODEL_WATCH_SECONDS):
                    await self._look_at_model.wait()

    async def _warm_indexes(self) -> None:
        await tasks.end(*self._warming)
        self._warming = [tasks.begin(warm_indexes(self.search), "indexes are brought up with their first questions")]

    async def _tidy_forever(self) -> None:
        # In every process: each server has its own folder of what it has made.
        while True:
            with tasks.going_on("what was made of deleted files cannot be removed"):
                await self.derived.sweep(self.db)
            await asyncio.sleep(limits.HOUSEKEEPING_SECONDS)

    async def _note_use_forever(self) -> None:
        while True:
            await asyncio.sleep(limits.KEY_USE_SECONDS)
            try:
                await self._note_use()
                await self.search.times.flush()
            except ServiceError as error:
                log.warning("the use of keys and queries cannot be noted", reason=error.message)

    async def _note_use(self) -> None:
        used, self.used_keys = self.used_keys, {}
        seen, self.seen_sessions = self.seen_sessions, {}
        if not used and not seen:
            return

        def note(tx: Tx) -> None:
            accounts_store.record_key_use(tx, used)
            sessions.record_activity(tx, seen)

        try:
            await self.db.write(note)
        except ServiceError:
            self.used_keys = {**used, **self.used_keys}
            self.seen_sessions = {**seen, **self.seen_sessions}
            raise

    async def _keep_house(self, _: Work) -> None:
        """Forgets what is past its time. The next round is planned first: one that fails must not be the last."""
        now = self.clock.now()
        following = now + timedelta(seconds=limits.HOUSEKEEPING_SECONDS)
        await self.db.write(lambda tx: self._schedule_housekeeping(tx, following))
        await prune_in_parts(self.db, lambda tx: accounts_store.prune(tx, instant(now)))
        told = instant(now - timedelta(seconds=limits.SIGNER_SESSION_TOLD_SECONDS))
        await prune_in_parts(self.db, lambda tx: links.prune(tx, told))
        answered = instant(now - timedelta(hours=limits.IDEMPOTENCY_HOURS))
        await prune_in_parts(self.db, lambda tx: idempotency.store.prune(tx, answered))
        for prune in (jobs_store.prune, mail.prune, deliveries.prune, uploads.prune):
            await prune_in_parts(self.db, functools.partial(prune, now=now))
        await measure.measure(self.db, now)
        if self._keeps_snapshots:
            await snapshot_plan.plan(self.db, now)
        await self.blobs.reclaim(self.db, now)
        await self.blobs.sweep(self.db, now)

    def _schedule_housekeeping(self, tx: Tx, at: datetime) -> None:
        round_key = f"{HOUSEKEEPING}:{int(at.timestamp()) // limits.HOUSEKEEPING_SECONDS}"
        now = self.clock.now()
        jobs.enqueue(tx, jobs.NewJob(HOUSEKEEPING, run_at=at, priority=jobs.BULK, unique_key=round_key), now=now)


def _limiter(db: Database, clock: Clock) -> RateLimiter:
    if db.dialect == "sqlite":
        return MemoryLimiter(db, clock)
    from deedbox.kernel.ratelimit.postgres import PostgresLimiter

    return PostgresLimiter(db, clock)


def _traces(settings: Settings, clock: Clock, worker: str) -> "Collector | None":
    if settings.traces_url is None:
        return None
    from deedbox.kernel.traces.export import Collector

    about = {"service.name": "deedbox", "service.version": VERSION, "service.instance.id": worker}
    return Collector(settings.traces_url, clock, about)


@asynccontextmanager
async def open_installation(settings: Settings, clock: Clock | None = None) -> AsyncIterator[Installation]:
    """An installation that is ready to use: data folder, master key and newest schema are there."""
    clock = clock or DatabaseClock(SystemClock())
    _make_folder(settings)
    db = _database(settings, clock)
    try:
        await _ensure_ring(settings, db)
        rotation.unreadable(settings.ring, await db.read(lambda tx: rotation.samples(tx, ENCRYPTED_COLUMNS)))
        deedbox = Installation(settings, clock, db)
        try:
            yield deedbox
        finally:
            await deedbox.close()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise
        raise SetupError(
            f"The database {settings.sqlite_path} is damaged: {error}.",
            "Keep a copy of it, and restore a backup into an empty folder: deedbox restore.",
        ) from error
    finally:
        await db.close()


def _database(settings: Settings, clock: Clock) -> Database:
    if settings.database_url is None:
        migrate_sqlite(settings.sqlite_path, clock.now())
        return SqliteDatabase(settings.sqlite_path)
    from deedbox.kernel.db.postgres import PostgresDatabase

    migrate_postgres(settings.database_url.reveal())
    return PostgresDatabase(settings.database_url.reveal())


async def _ensure_ring(settings: Settings, db: Database) -> None:
    """Makes a master key for a new installation only: another one could not decrypt what the first has encrypted."""
    # Asked in this order: the key is made before the first workspace, also by a process that starts at this moment.
    in_use = await db.read(accounts_store.first_workspace) is not None
    if in_use and not settings.ring.exists():
        raise SetupError(
            f"The master key file {settings.ring} is missing, but the database is in use.",
            "Restore it from a backup, or copy it from the machine that has it.",
        )
    create_key_file(settings.ring)


def _make_folder(settings: Settings) -> None:
    folder = settings.data_dir
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise SetupError(
            f"The data folder {folder} cannot be written: {error.strerror}.",
            "Give another with --data DIR, or change its owner or mode.",
        ) from error


@asynccontextmanager
async def sole_user(settings: Settings, *, server: bool = False) -> AsyncIterator[None]:
    """Keeps a second server off a data folder with SQLite; on PostgreSQL several are welcome. A server waits for a
    command that has the folder for a moment."""
    if settings.database_url is not None:
        yield
        return
    _make_folder(settings)
    with open(settings.data_dir / "deedbox.lock", "a+", encoding="ascii") as file:
        await _lock(file, settings, limits.SERVER_WAIT_SECONDS if server else 0)
        file.truncate(0)
        file.write(f"{_SERVER if server else _COMMAND} (process {os.getpid()})")
        file.flush()
        yield


async def _lock(file: IO[str], settings: Settings, seconds: float) -> None:
    began, told = stopwatch(), False
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            file.seek(0)
            user = file.read().strip()
            if user.startswith(_SERVER) or stopwatch() - began >= seconds:
                raise SetupError(
                    f"Another {user or 'process'} uses the data folder {settings.data_dir}.",
                    "Stop it first, or give this one another folder with --data DIR.",
                ) from error
        if not told:
            log.info("waiting until the data folder is free", used_by=user)
            told = True
        await asyncio.sleep(limits.FOLDER_WAIT_SECONDS)
