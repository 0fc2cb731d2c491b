"""The command `dumbo`. Importing this costs nothing: worker processes import it with the main module."""


def main() -> None:
    """What the installed command runs."""
    from service.cli.app import app

    app()
