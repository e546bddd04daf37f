"""Integrations: the learner as an estimator of other libraries."""
