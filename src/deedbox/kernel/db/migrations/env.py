"""Run by Alembic: connects to the database that `migrate` names and applies the revisions in one transaction."""

from typing import Any

import sqlalchemy
from alembic import context


def _begin_immediate(connection: sqlalchemy.Connection) -> None:
    connection.exec_driver_sql("begin immediate")


def _no_implicit_begin(connection: Any, _record: Any) -> None:
    connection.isolation_level = None


def run() -> None:
    engine = sqlalchemy.create_engine(context.config.attributes["url"], poolclass=sqlalchemy.NullPool)
    if engine.dialect.name == "sqlite":
        # The driver would run DDL outside the transaction: a migration cut in half would stay half.
        sqlalchemy.event.listen(engine, "connect", _no_implicit_begin)
        sqlalchemy.event.listen(engine, "begin", _begin_immediate)
    with engine.connect() as connection:
        context.configure(connection=connection, transactional_ddl=True)
        with context.begin_transaction():
            context.run_migrations()


run()
