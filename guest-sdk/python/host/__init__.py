"""What protocols in Python have in common: encoding, parameters, timers, a clock, histories of clients.

Everything here is plain Python, so protocols can be tested without WebAssembly.
"""
