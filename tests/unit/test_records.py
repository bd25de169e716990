"""The engine writes records that the core reads: both must mean the same bytes."""

import numpy as np
import rackproof_native as engine

from rackproof.model.traffic import RECORD_DTYPE


def test_the_engine_and_the_core_agree_on_a_record() -> None:
    written = np.dtype(engine.RECORD_DTYPE_DESCR)
    assert written.itemsize == RECORD_DTYPE.itemsize
    assert written.fields is not None
    assert RECORD_DTYPE.fields is not None
    for name, (kind, offset, *_) in RECORD_DTYPE.fields.items():
        assert written.fields[name][:2] == (kind, offset), name
