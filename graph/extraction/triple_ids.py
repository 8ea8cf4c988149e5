"""The id of a triple: the same statement of the same chunk is the same triple, whoever reads it."""

from __future__ import annotations

import uuid


def triple_id(chunk_id: str, subject: str, wording: str, target: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, "\x1f".join((chunk_id, subject, wording, target))))
