"""What holds of every stream, whatever its rows."""
