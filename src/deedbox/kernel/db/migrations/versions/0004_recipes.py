"""A log for each recipe, and which recipe answers, so that one model answers while another embeds. The media type
becomes part of what a chunk set is made of."""

from alembic import op

from deedbox.kernel.db.migrations import ddl

revision = "0004"
down_revision = "0003"

RECIPES = """
create table libraries (
    workspace_id TEXT primary key references workspaces (id),
    recipe TEXT not null
);
insert into libraries (workspace_id, recipe)
    select l.workspace_id, coalesce(
        (select s.recipe from chunk_sets s where s.workspace_id = l.workspace_id order by s.created_at desc limit 1),
        'none'
    ) from index_log l group by l.workspace_id;

create table chunk_sets_of_types (
    id TEXT primary key,
    workspace_id TEXT not null references workspaces (id),
    sha256 TEXT not null,
    media_type TEXT not null,
    recipe TEXT not null,
    chunks INT not null,
    created_at TEXT not null,
    unique (workspace_id, sha256, media_type, recipe)
);
insert into chunk_sets_of_types (id, workspace_id, sha256, media_type, recipe, chunks, created_at)
    select s.id, s.workspace_id, s.sha256, coalesce(min(u.media_type), ''), s.recipe, s.chunks, s.created_at
    from chunk_sets s left join uploads u on u.chunk_set_id = s.id and u.sha256 = s.sha256
    group by s.id, s.workspace_id, s.sha256, s.recipe, s.chunks, s.created_at;
create table chunks_of_types (
    chunk_set_id TEXT not null references chunk_sets_of_types (id),
    number INT not null,
    text TEXT not null,
    char_start INT not null,
    char_end INT not null,
    page INT,
    heading TEXT,
    vector BYTES not null,
    primary key (chunk_set_id, number)
);
insert into chunks_of_types select chunk_set_id, number, text, char_start, char_end, page, heading, vector from chunks;
drop table chunks;
drop table chunk_sets;
alter table chunk_sets_of_types rename to chunk_sets;
alter table chunks_of_types rename to chunks;

create table index_logs (
    workspace_id TEXT not null references workspaces (id),
    recipe TEXT not null,
    number INT not null,
    upload_id TEXT not null,
    chunk_set_id TEXT,
    primary key (workspace_id, recipe, number),
    unique (workspace_id, recipe, upload_id)
);
insert into index_logs (workspace_id, recipe, number, upload_id, chunk_set_id)
    select l.workspace_id, b.recipe, l.number, l.upload_id, l.chunk_set_id
    from index_log l join libraries b on b.workspace_id = l.workspace_id;
drop table index_log;
alter table index_logs rename to index_log;
create index index_log_by_set on index_log (chunk_set_id);

drop index uploads_by_chunk_set;
alter table uploads drop column chunk_set_id
"""


def upgrade() -> None:
    ddl.apply(op.get_bind(), RECIPES)
