"""Indigo's network: one step against the equations written out, and the file of weights."""

import math
from pathlib import Path

import numpy as np
import pytest

from testplans.congestion_control.schemes.programs import indigo

VALUES = 5542


def indigo_weights(path: Path, action: int) -> Path:
    """Weights that always choose one action."""
    values = np.zeros(VALUES, np.float32)
    values[1 + action] = 1
    values.tofile(path)
    return path


def test_the_action_of_the_highest_score_is_taken(tmp_path: Path) -> None:
    for action in range(5):
        network = indigo.Network(indigo_weights(tmp_path / "weights", action))
        assert network.act(np.array([1, 2, 3, 4], np.float32)) == action
    assert [change(40.0) for change in indigo.ACTIONS] == [20.0, 30.0, 40.0, 50.0, 80.0]


def test_two_steps_are_those_of_a_long_short_term_memory(tmp_path: Path) -> None:
    drawn = np.random.default_rng(5).normal(0, 0.4, VALUES).astype(np.float32)
    drawn.tofile(tmp_path / "weights")
    bias, scores = drawn[1:6], drawn[6:166].reshape(32, 5)
    gate_bias, kernel = drawn[166:294], drawn[294:].reshape(41, 128)
    state = np.array([30, 35, 36, 120], np.float32)
    network = indigo.Network(tmp_path / "weights")
    cell, output, last = [0.0] * 32, [0.0] * 32, 4
    for _ in range(2):
        inputs = [30 / 200, 35 / 200, 36 / 200, 120 / 5000, *(float(action == last) for action in range(5)), *output]
        gates = [
            sum(value * float(kernel[row, column]) for row, value in enumerate(inputs)) + float(gate_bias[column]) for column in range(128)
        ]
        for unit in range(32):
            take, new, forget, give = (gates[unit + 32 * part] for part in range(4))
            cell[unit] = cell[unit] * sigmoid(forget + 1) + sigmoid(take) * math.tanh(new)
            output[unit] = math.tanh(cell[unit]) * sigmoid(give)
        totals = [sum(output[unit] * float(scores[unit, action]) for unit in range(32)) + float(bias[action]) for action in range(5)]
        last = totals.index(max(totals))
        assert network.act(state) == last
    assert network._output == pytest.approx(output, abs=1e-5)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(bytes(100))
    with pytest.raises(SystemExit, match="expected 22168 bytes, the variables of Indigo's network, found 100"):
        indigo.Network(tmp_path / "weights")


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))
