"""How learners are judged: protocols, measures, and results that are written down."""
