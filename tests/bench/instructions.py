"""Which instructions cost more than others, as gdb's disassembler writes them."""
from __future__ import annotations


def is_locked(text: str) -> bool:
    """It has the bus or the cache line to itself: `lock`, and an exchange with memory."""
    return text.startswith("lock ") or (text.startswith("xchg") and "(" in text)


def is_fence(text: str) -> bool:
    return text.startswith("mfence")
