"""`python -m labelwalk` is the command `labelwalk`."""

from labelwalk.cli import main

if __name__ == "__main__":
    main()
