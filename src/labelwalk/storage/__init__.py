"""How files are stored durably."""
