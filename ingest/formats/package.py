"""The parts of an Office file: a ZIP archive that may be hostile, of XML files that may be too."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

from lxml import etree

from core.errors import CorruptDocument, PasswordNeeded

MAX_PART_MB = 48  # of XML, of which lxml makes about ten times as much in memory
MAX_UNPACKED_MB = 2_000
MAX_PARTS = 20_000
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


class Package:
    """An open DOCX file. Raises CorruptDocument, PasswordNeeded."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        try:
            self._archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError, UnicodeError) as error:
            raise _not_opened(path, error) from None
        infos = self._archive.infolist()
        unpacked = sum(info.file_size for info in infos)
        if len(infos) > MAX_PARTS or unpacked > MAX_UNPACKED_MB * 1_000_000:
            self._archive.close()
            raise CorruptDocument(
                f"{path.name} would unpack to {unpacked / 1e6:,.0f} MB in {len(infos):,} parts: no document does",
                hint="save it anew, without what is embedded in it",
            )

    def __enter__(self) -> Package:
        return self

    def __exit__(self, *_: object) -> None:
        self._archive.close()

    def has(self, name: str) -> bool:
        return name in self._archive.NameToInfo

    def xml(self, name: str) -> Any:
        """The root element of a part, or None where there is no such part. No entity is resolved."""
        if not self.has(name):
            return None
        parser = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True
        )
        try:
            return etree.fromstring(self._read(name), parser)
        except etree.XMLSyntaxError as error:
            raise self._damaged(f"{name}: {error.msg}") from None

    def _read(self, name: str) -> bytes:
        """Reads no more than the limit, whatever size the archive declares."""
        limit = MAX_PART_MB * 1_000_000
        try:
            with self._archive.open(name) as part:
                data = part.read(limit + 1)
        except RuntimeError:
            raise PasswordNeeded(
                f"{self._name} is an encrypted archive", hint="save a copy without a password and add that"
            ) from None
        except (OSError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
            raise self._damaged(f"{name}: {error}") from None
        if len(data) > limit:
            raise CorruptDocument(
                f"{self._name}: {name} unpacks to more than {MAX_PART_MB} MB", hint="split it, or save it as PDF"
            )
        return data

    def _damaged(self, what: str) -> CorruptDocument:
        return CorruptDocument(f"{self._name} is damaged ({what[:200]})", hint="open it in Word and save it anew")


def _not_opened(path: Path, error: Exception) -> CorruptDocument | PasswordNeeded:
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return CorruptDocument(f"{path.name} can't be read: {reason}", hint="check that the file is still there")
    with path.open("rb") as file:
        head = file.read(8)
        rest = file.read(64 * 1024 * 1024) if head == _OLE else b""
    if not head:
        return CorruptDocument(f"{path.name} is empty (0 bytes)", hint="copy or download it again")
    if head == _OLE and _ENCRYPTED in rest:
        return PasswordNeeded(f"{path.name} is encrypted", hint="save a copy without a password and add that")
    if head == _OLE:
        return CorruptDocument(
            f"{path.name} is in the format of Word before 2007", hint="open it in Word and save it as .docx or PDF"
        )
    if head.startswith(b"PK"):
        return CorruptDocument(f"{path.name} is damaged beyond repair or cut short", hint="download it again")
    return CorruptDocument(f"{path.name} is not a DOCX file", hint="save it as .docx or PDF and add that")
