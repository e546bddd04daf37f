"""Durable storage: model files and atomic file writes."""
