"""Is a pipeline exact? Builds a recording and compares every row with the truth."""
