"""Recognizes expensive instructions in the text of gdb's disassembler."""
from __future__ import annotations


def is_locked(text: str) -> bool:
    """Whether it locks the bus or the cache line: a `lock` prefix, or xchg with memory."""
    return text.startswith("lock ") or (text.startswith("xchg") and "(" in text)


def is_fence(text: str) -> bool:
    return text.startswith("mfence")
