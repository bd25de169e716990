"""Alembic's folder: migrations run by themselves when a store is opened (database.migrate)."""
