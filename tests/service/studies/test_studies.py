"""Studies: made, listed, read, changed and deleted, by id and by name."""

from __future__ import annotations

import pytest

from service.studies.schemas import EXAMPLE
from tests.support.app import SPACE, Api, running_app


def test_a_created_study_is_found_by_id_and_by_name(api: Api) -> None:
    """The location, the id and the name all lead to the study that was created."""
    created = api.post("/v1/studies", json=EXAMPLE | {"name": "two ways"})
    assert created.status_code == 201
    study = created.json()
    assert created.headers["location"] == f"/v1/studies/{study['id']}"
    assert api.get(created.headers["location"]).json() == study
    assert api.get("/v1/studies/two ways").json() == study


def test_the_study_gives_its_spec_back(api: Api) -> None:
    """Everything that was said in the spec stands in the study, with the defaults filled in."""
    study = api.post("/v1/studies", json=EXAMPLE | {"name": "echo"}).json()
    assert [p["name"] for p in study["parameters"]] == ["lr", "width", "drop", "batch", "opt"]
    assert study["parameters"][0] == EXAMPLE["parameters"][0]
    assert study["decomposition"]["factors"] == EXAMPLE["decomposition"]["factors"]
    assert study["algorithm"]["seed"] == 7
    assert study["metadata"] == {"team": "vision"}
    assert study["state"] == "active"
    assert study["trial_counts"] == {"running": 0, "completed": 0, "failed": 0, "abandoned": 0}
    assert study["best"] is None


def test_a_study_without_a_seed_gets_one_for_good(api: Api) -> None:
    """The seed is drawn at creation and stored, and two studies get different ones."""
    first, second = (api.get(api.study()).json()["algorithm"]["seed"] for _ in range(2))
    assert first != second


def test_a_taken_name_is_refused(api: Api) -> None:
    """A second study of the same name, in whatever Unicode form, is 409 name_taken."""
    api.study(name="caf\u00e9")
    again = api.post("/v1/studies", json={"name": "cafe\u0301", "direction": "minimize", "parameters": SPACE})
    assert (again.status_code, again.json()["code"]) == (409, "name_taken")


def test_studies_are_paged_from_the_newest(backend: str, database_url: str) -> None:
    """Following the cursors gives every study once, the newest first."""
    with running_app(database_url) as api:
        names = [f"page {i}" for i in range(5)]
        for name in names:
            api.study(name=name)
        seen: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = api.get("/v1/studies", params={"limit": 2, **cursor}).json()
            seen += [study["name"] for study in page["studies"]]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert seen == names[::-1]


def test_the_list_shows_each_study_as_its_own_page_does(api: Api) -> None:
    """Counts and the best trial in the list equal those of the study itself."""
    study = api.study()
    [trial] = api.ask(study)
    api.tell(study, trial=trial["number"], value=1.5)
    alone = api.get(study).json()
    listed = api.get("/v1/studies").json()["studies"]
    assert alone in listed
    assert alone["best"]["value"] == 1.5


def test_state_and_metadata_can_be_changed(api: Api) -> None:
    """A patch changes what it names and leaves the rest."""
    study = api.study(metadata={"a": 1})
    stopped = api.patch(study, json={"state": "stopped"}).json()
    assert (stopped["state"], stopped["metadata"]) == ("stopped", {"a": 1})
    relabelled = api.patch(study, json={"metadata": {"b": [2]}}).json()
    assert (relabelled["state"], relabelled["metadata"]) == ("stopped", {"b": [2]})
    assert api.patch(study, json={"state": "active"}).json()["state"] == "active"


def test_a_patch_that_changes_nothing_leaves_the_revision(api: Api) -> None:
    """Setting what is set already is 200 and no change."""
    study = api.study()
    before = api.get(study).json()
    assert api.patch(study, json={"state": "active"}).json() == before


def test_asking_a_stopped_study_is_refused_and_telling_is_not(api: Api) -> None:
    """A stopped study hands out nothing and still takes results."""
    study = api.study()
    [trial] = api.ask(study)
    api.patch(study, json={"state": "stopped"})
    refused = api.post(f"{study}/ask")
    assert (refused.status_code, refused.json()["code"]) == (409, "study_stopped")
    assert api.tell(study, trial=trial["number"], value=1.0)["best"]["number"] == trial["number"]


def test_a_deleted_study_is_gone_with_its_trials(api: Api) -> None:
    """After a delete nothing of the study is left, and its name is free again."""
    study = api.study(name="short-lived")
    api.ask(study, count=3)
    identity = study.rsplit("/", 1)[1]
    assert api.delete(study).status_code == 204
    assert api.get(study).status_code == 404
    assert api.delete(study).json()["code"] == "study_not_found"
    assert not any(identity in row for rows in api.dump().values() for row in rows)
    api.study(name="short-lived")


def test_an_unchanged_study_is_304(api: Api) -> None:
    """A client that has the newest gets no body; after any change it gets one."""
    study = api.study()
    tag = api.get(study).headers["etag"]
    assert api.get(study, headers={"if-none-match": tag}).status_code == 304
    assert api.get(f"{study}/trials", headers={"if-none-match": f'"other", W/{tag}'}).status_code == 304
    api.ask(study)
    assert api.get(study, headers={"if-none-match": tag}).status_code == 200


@pytest.mark.parametrize("path", ["", "/trials", "/trials/0", "/best", "/decomposition", "/trials.csv"])
def test_an_unknown_study_is_404(api: Api, path: str) -> None:
    """Every read below a study that does not exist says so."""
    answer = api.get(f"/v1/studies/nothing{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "study_not_found")
