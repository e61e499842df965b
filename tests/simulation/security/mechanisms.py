"""The mechanisms of SASL in the simulator."""

from __future__ import annotations

PLAIN = "PLAIN"
SCRAM = "SCRAM-SHA-256"
