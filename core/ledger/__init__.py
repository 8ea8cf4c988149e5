"""The ledger: the one source of truth, on SQLite or PostgreSQL. Everything else is projected from it."""

from core.ledger.store import Ledger

__all__ = ["Ledger"]
