"""Measures the contract that users call."""
