"""What to call next, as links of the OpenAPI document: which part of an answer names what in another call.

A reader of the document follows them, and so do tools that test a service by walking from call to call.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

SAME_STUDY = {"study": "$request.path.study"}
TRIAL = {"number": "$response.body#/trials/0/number"}
NEXT_PAGE = {"cursor": "$response.body#/next_cursor"}
RESULT = {"trial": "$response.body#/trials/0/number", "value": 0.5}


@dataclass(frozen=True)
class Link:
    """From an operation's success to others, whose parameters (and body) are parts of its answer."""

    source: str
    status: str
    parameters: dict[str, str]
    targets: tuple[str, ...]
    body: dict[str, Any] | None = None


OF_A_NEW_STUDY = (
    *("get_study", "update_study", "delete_study", "ask", "tell", "list_trials", "export_trials", "get_series"),
    *("get_decomposition", "get_decomposition_history"),
)
LINKS = [
    Link("create_study", "201", {"study": "$response.body#/id"}, OF_A_NEW_STUDY),
    Link("list_studies", "200", {"study": "$response.body#/studies/0/id"}, ("get_study",)),
    Link("list_studies", "200", NEXT_PAGE, ("list_studies",)),
    Link("ask", "200", SAME_STUDY | TRIAL, ("get_trial", "get_trial_diagnostics")),
    Link("ask", "200", SAME_STUDY, ("tell",), RESULT),
    Link("tell", "200", SAME_STUDY | TRIAL, ("get_trial",)),
    Link("tell", "200", SAME_STUDY, ("ask", "get_best", "predict", "get_series", "get_decomposition")),
    Link("list_trials", "200", SAME_STUDY | NEXT_PAGE, ("list_trials",)),
    Link("get_decomposition_history", "200", SAME_STUDY | NEXT_PAGE, ("get_decomposition_history",)),
    Link("create_key", "201", {"key": "$response.body#/id"}, ("revoke_key",)),
]


def add_links(operations: Iterable[dict[str, Any]]) -> None:
    """Give each operation's answers the links that lead on from them."""
    by_id = {operation["operationId"]: operation for operation in operations}
    for link in LINKS:
        links = by_id[link.source]["responses"][link.status].setdefault("links", {})
        for target in link.targets:
            body = {} if link.body is None else {"requestBody": link.body}
            links[target] = {"operationId": target, "parameters": link.parameters, **body}
