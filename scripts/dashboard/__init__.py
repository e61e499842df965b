"""Draws the dashboard of conf/: what a real Prometheus answers to its queries."""
