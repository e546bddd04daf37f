"""Linear systems on graphs: exact, factorized and incremental solutions."""
