"""`python -m service.cli` is `dumbo`."""

from service.cli import main

if __name__ == "__main__":
    main()
