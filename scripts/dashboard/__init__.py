"""Draws the dashboard of conf/: what a real Prometheus returns for its queries."""
