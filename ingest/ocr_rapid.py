"""RapidOCR; no other module imports it. Its models (PP-OCRv6, for Chinese and Latin scripts) are in its wheel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rapidocr import RapidOCR

from ingest.ocr import Pixels
from ingest.ocr_order import Line

_LONGEST_SIDE = 1280  # of the picture in which lines are looked for; they are read at full size
_PARAMETERS = {
    "Global.log_level": "error",
    "Global.text_score": 0.0,  # low scores tell that a page is upside down
    "Det.limit_type": "max",
    "Det.limit_side_len": _LONGEST_SIDE,
}


class RapidEngine:
    def __init__(self) -> None:
        self._reader: Any = RapidOCR(params=_PARAMETERS)

    def read(self, image: Pixels) -> Sequence[Line]:
        # Without its classifier of turned lines: the page is turned as a whole, which also puts its lines in order.
        found = self._reader(np.ascontiguousarray(image[:, :, ::-1]), use_cls=False)
        if found.boxes is None:
            return []
        corners = np.asarray(found.boxes, dtype=np.float64)
        low, high = corners.min(axis=1), corners.max(axis=1)
        return [
            Line(text, (float(a[0]), float(a[1]), float(b[0]), float(b[1])), float(score))
            for text, score, a, b in zip(found.txts, found.scores, low, high, strict=True)
        ]
