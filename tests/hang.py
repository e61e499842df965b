"""How long tests wait for what has to happen."""

HANG_S = 300
"""Nothing that a test waits for takes so long on any machine, unless it hangs."""
