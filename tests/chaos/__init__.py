"""Ways to break the service, and what was lost each time: nothing, if all is well. `python -m tests.chaos --help`.

A module with a function `findings(scale)` is one kind of fault; it yields a `Finding` for each thing it tried. Scale 1
is the long run of `make chaos`; the tests beside it run the same code in small. The other modules are their tools.
"""
