"""What a reasoner hands on: claims with their citations, before anything is scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from core.types import Citation, Claim


@dataclass(frozen=True)
class Draft:
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    written_by: Literal["quotation", "llm", "none"]
    model: str = ""
    dropped: int = 0
    """claims or quotes that were left out since nothing in the sources supports them"""
    unfounded: bool = False
    """a model wrote sentences, and not one of them could be kept"""

    @property
    def text(self) -> str:
        return " ".join(f"{claim.text} {''.join(f'[{n}]' for n in claim.citations)}" for claim in self.claims)
