"""The learner as an estimator of other libraries."""
