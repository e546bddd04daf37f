"""The same learner where rows are too many for one core: cover apart, merge, solve, label apart."""
