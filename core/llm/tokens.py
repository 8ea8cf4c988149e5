"""Estimate how many tokens a language model counts for a text, without the model's tokenizer.

Fitted on real Qwen2.5 counts of 216 texts (English, German, Chinese, Korean, Japanese, code, tables, Markdown,
formulas, JSON, numbers), to lean over rather than under: Qwen spends a token a digit, others up to three digits.
Base64 costs a quarter more than this says, and rare characters in no order twice as much.
"""

import re
from typing import Final

_LOWER: Final = r"a-z\xdf-\xf6\xf8-\u024f\u1e00-\u1eff"
_UPPER: Final = r"A-Z\xc0-\xd6\xd8-\xde"
_PUNCTUATION: Final = r"!-/:-@\[-`{-~"

# What to look for, tokens a match, tokens a character of a match.
_WEIGHTS: Final = tuple(
    (re.compile(pattern), per_match, per_character)
    for pattern, per_match, per_character in (
        (rf"[{_UPPER}]?[{_LOWER}]+", 1.08, 0.0),
        (rf"(?<=[{_LOWER}]{{9}})[{_LOWER}]+", 0.0, 0.55),  # the letters of a word after its ninth
        (rf"(?<=[a-z,] )[A-Z][{_LOWER}]{{4,}}", 1.2, 0.0),  # names and German nouns: rarer words
        (r"[\xc0-\xd6\xd8-\xf6\xf8-\u024f\u1e00-\u1eff]", 2.1, 0.0),  # accents split words
        (rf"[{_UPPER}]+(?![{_LOWER}])", 0.45, 0.2),
        (r"\d|[ \t](?=\d)", 1.0, 0.0),  # a space joins a word that follows, but never a digit
        (rf"[{_PUNCTUATION}]+", 1.08, 0.06),
        (rf"(?<![{_PUNCTUATION} ])[{_PUNCTUATION}](?=[A-Za-z])", -0.5, 0.0),  # one that may join the word after it
        (r"[\r\n]+", 0.9, 0.03),
        (r"[ \t]{2,}", 0.5, 0.03),
        (r"[\u3400-\u9fff\uf900-\ufaff]+", 0.0, 0.67),  # Han
        (r"[\uac00-\ud7a3]+", 0.38, 0.8),  # Hangul
        (r"[\u3040-\u30ff]+", 0.0, 0.65),  # kana
        (r"[\u3000-\u303f\uff00-\uffef]+", 0.0, 1.5),  # their punctuation and full-width forms
        (r"[\u0400-\u074f]+", 0.0, 0.5),  # Cyrillic, Hebrew, Arabic
        (r"[\U00010000-\U0010ffff]+", 0.0, 1.5),  # mathematical letters, emoji
        # Symbols and all other scripts.
        (r"[\x80-\xbf\xd7\xf7\u0250-\u03ff\u0750-\u1dff\u1f00-\u2fff\u3100-\u33ff]+", 0.0, 1.25),
        (r"[\ua000-\uabff\ud7a4-\uf8ff\ufb00-\ufeff\ufff0-\uffff]+", 0.0, 1.25),
    )
)


def estimate(text: str) -> int:
    """About how many tokens `text` is, at least one unless it is empty; seldom more than a tenth too few."""
    total = 0.0
    for pattern, per_match, per_character in _WEIGHTS:
        found: list[str] = pattern.findall(text)
        total += per_match * len(found) + (per_character * sum(map(len, found)) if per_character else 0.0)
    return max(round(total), 1 if text else 0)
