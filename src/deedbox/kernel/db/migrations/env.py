"""Run by Alembic: connects to the database that `migrate` names and applies the revisions in one transaction."""

import sqlalchemy
from alembic import context


def _begin_immediate(connection: sqlalchemy.Connection) -> None:
    connection.exec_driver_sql("begin immediate")


def run() -> None:
    given = context.config.attributes
    # Given a connection instead of an address: no path and no password has to survive being written as a URL.
    engine = sqlalchemy.create_engine(f"{given['driver']}://", creator=given["connect"], poolclass=sqlalchemy.NullPool)
    if engine.dialect.name == "sqlite":
        # The driver begins nothing by itself here; without this, a migration cut in half would stay half.
        sqlalchemy.event.listen(engine, "begin", _begin_immediate)
    with engine.connect() as connection:
        context.configure(connection=connection, transactional_ddl=True)
        with context.begin_transaction():
            context.run_migrations()


run()
