"""The state machine: every call of the API as a rule, made of the service and of the model, whose answers must agree.

Two replicas on one database take the calls of several clients in two workspaces, with and without Idempotency-Keys;
the clock jumps, replicas restart. After every step the studies, the trials and the counts are compared.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.chaos import truth
from tests.chaos.client import Reply
from tests.chaos.moves import batches, jumps, keys, names, numbers, points, requests, results, whole
from tests.chaos.replicas import Replicas
from tests.chaos.truth import JSON, Refused, Study, timed

CHANGING = ("revision", "updated_at", "best", "trial_counts", "state", "metadata")


class Contract(RuleBasedStateMachine):
    """One run in two workspaces of its own."""

    site: ClassVar[Replicas]

    def __init__(self) -> None:
        super().__init__()
        run = uuid.uuid4().hex
        self.workspaces = {"plant": f"plant-{run}", "lab": f"lab-{run}"}
        self.tokens = {who: self.site.token(space, "write") for who, space in self.workspaces.items()}
        self.tokens["guest"] = self.site.token(self.workspaces["plant"], "read")
        self.studies: dict[tuple[str, str], Study] = {}
        self.answers: dict[tuple[str, str], tuple[str, JSON | None, Reply]] = {}  # by workspace and Idempotency-Key
        self.tags: dict[str, tuple[int, str]] = {}  # the last revision and ETag seen of each study

    def _call(self, who: str, *request: Any, **headers: str) -> Reply:
        """Call one of the replicas; which one is no business of the caller."""
        token = f"Bearer {self.tokens[who]}"
        return self.site.call(self.site.calls % 2, *request, Authorization=token, **headers)

    def _space(self, who: str) -> str:
        return "lab" if who == "lab" else "plant"

    def _study(self, who: str, name: str) -> Study:
        found = self.studies.get((self._space(who), name))
        if found is None:
            raise Refused(404, "study_not_found")
        return found

    def _path(self, who: str, name: str, by_id: bool) -> str:
        found = self.studies.get((self._space(who), name))
        return f"/v1/studies/{found.id if found is not None and by_id else name}"

    def _post(self, who: str, path: str, body: JSON | None, key: str | None, expected: Callable[[Reply], None]) -> None:
        """Post, and hold the answer against a stored one, or against what the model expects."""
        reply = self._call(who, "POST", path, body, key)
        stored = None if key is None else self.answers.get((self._space(who), key))
        if who == "guest":
            _refused(reply, Refused(403, "forbidden"))
        elif stored is not None and stored[:2] == (path, body):
            assert (reply.status, reply.content) == (stored[2].status, stored[2].content)
        elif stored is not None:
            _refused(reply, Refused(409, "idempotency_key_reused"))
        elif self._agrees(reply, expected) and key is not None:
            self.answers[self._space(who), key] = (path, body, reply)

    def _agrees(self, reply: Reply, expected: Callable[[Reply], None]) -> bool:
        """Whether the request was to succeed, which it then did."""
        try:
            expected(reply)
        except Refused as refusal:
            _refused(reply, refusal)
            return False
        return True

    @initialize()
    def first_study(self) -> None:
        """Most calls need a study."""
        self.create("plant", "alpha", "minimize", known=False, initial=1000, key=None)

    @rule(
        who=st.sampled_from(["plant", "lab", "guest"]),
        name=names,
        direction=st.sampled_from(["minimize", "maximize"]),
        known=st.booleans(),
        initial=st.sampled_from([1000, 1000, 1000, 2]),
        key=keys,
    )
    def create(self, who: str, name: str, direction: str, known: bool, initial: int, key: str | None) -> None:
        decomposition = {"mode": "known", "factors": truth.FACTORS} if known else {"mode": "none"}
        algorithm = {"seed": 1, "initial_trials": initial}
        body: JSON = {"name": name, "direction": direction, "parameters": truth.SPACE, "decomposition": decomposition}
        body |= {"algorithm": algorithm, "metadata": {"by": who}}

        def expected(reply: Reply) -> None:
            if (self._space(who), name) in self.studies:
                raise Refused(409, "name_taken")
            assert reply.status == 201
            shown = reply.body
            spec = {part: shown[part] for part in shown if part not in CHANGING}
            created = datetime.fromisoformat(spec.pop("created_at"))
            study = Study(spec["id"], spec, created, metadata={"by": who})
            assert {part: spec[part] for part in ("name", "direction")} == {"name": name, "direction": direction}
            assert spec["decomposition"]["mode"] == decomposition["mode"]
            self.studies[self._space(who), name] = study

        self._post(who, "/v1/studies", body, key, expected)

    @rule(who=st.sampled_from(["plant", "plant", "lab"]), name=names, by_id=st.booleans(), request=requests, key=keys)
    def ask(self, who: str, name: str, by_id: bool, request: JSON, key: str | None) -> None:
        def expected(reply: Reply) -> None:
            study = self._study(who, name)
            again = study.due(request, datetime.now(UTC))
            assert reply.status == 200, reply.content
            answer = reply.body
            assert answer["diagnostics"]["redelivered"] == len(again)
            study.hand_out(request, again, [timed(trial) for trial in answer["trials"]])
            self._has_changed(study)

        self._post(who, f"{self._path(who, name, by_id)}/ask", request, key, expected)

    @rule(request=requests, key=keys)
    def ask_alpha(self, request: JSON, key: str | None) -> None:
        """Most asks are of one study, or they would seldom meet."""
        self.ask("plant", "alpha", True, request, key)

    @rule(who=st.sampled_from(["plant", "plant", "guest"]), name=names, told=batches, key=keys)
    def tell_several(self, who: str, name: str, told: list[JSON], key: str | None) -> None:
        self._tell(who, name, {"results": told}, told, key)

    @rule(name=names, result=results, key=keys)
    def tell_one(self, name: str, result: JSON, key: str | None) -> None:
        self._tell("plant", name, result, [result], key)

    @rule(number=numbers, value=whole, key=keys)
    def tell_alpha(self, number: int, value: float, key: str | None) -> None:
        """What happens most of the time."""
        self._tell("plant", "alpha", {"trial": number, "value": value}, [{"trial": number, "value": value}], key)

    def _tell(self, who: str, name: str, body: JSON, told: list[JSON], key: str | None) -> None:
        def expected(reply: Reply) -> None:
            study = self._study(who, name)
            after, numbers = study.told(told)
            assert reply.status == 200, reply.content
            answer = reply.body
            if study.take(after, numbers, [timed(trial) for trial in answer["trials"]]):
                self._has_changed(study)
            assert (answer["best"] and timed(answer["best"])) == study.best

        self._post(who, f"{self._path(who, name, True)}/tell", body, key, expected)

    @rule(
        name=names,
        patch=st.fixed_dictionaries(
            {},
            optional={
                "state": st.sampled_from(["active", "active", "stopped"]),
                "metadata": st.sampled_from([{"by": "plant"}, {"note": [1, None]}]),
            },
        ),
    )
    def change(self, name: str, patch: JSON) -> None:
        reply = self._call("plant", "PATCH", self._path("plant", name, False), patch)

        def expected(reply: Reply) -> None:
            study = self._study("plant", name)
            before = (study.state, study.metadata)
            study.change(patch)
            assert reply.status == 200
            if (study.state, study.metadata) != before:
                self._has_changed(study)
            self._check_study(study, reply.body)

        self._agrees(reply, expected)

    @rule(who=st.sampled_from(["plant", "guest", "lab"]), name=names, really=st.sampled_from([True, False, False]))
    def delete(self, who: str, name: str, really: bool) -> None:
        """Now and then only, or there would be nothing to look at."""
        if not really:
            return
        reply = self._call(who, "DELETE", self._path(who, name, True))
        if who == "guest":
            _refused(reply, Refused(403, "forbidden"))
        elif self.studies.pop((self._space(who), name), None) is None:
            _refused(reply, Refused(404, "study_not_found"))
        else:
            assert reply.status == 204

    @rule(name=names, point=points, key=keys, really=st.sampled_from([True, False, False]))
    def predict(self, name: str, point: JSON, key: str | None, really: bool) -> None:
        if not really:
            return

        def expected(reply: Reply) -> None:
            if self._study("plant", name).counts["completed"] == 0:
                raise Refused(409, "no_completed_trial")
            assert reply.status == 200, reply.content
            [prediction] = reply.body["predictions"]
            assert prediction["sd"] >= 0

        self._post("plant", f"{self._path('plant', name, True)}/predict", {"points": [point]}, key, expected)

    @rule(name=names, number=numbers)
    def read_one(self, name: str, number: int) -> None:
        """One trial, how it was made, and the best."""
        path = self._path("plant", name, False)
        shown, made, best = (
            self._call("guest", "GET", f"{path}/{what}")
            for what in (f"trials/{number}", f"trials/{number}/diagnostics", "best")
        )

        def expected(reply: Reply) -> None:
            found = self._study("plant", name).trial(number)
            assert timed(reply.body) == found

        def expected_made(reply: Reply) -> None:
            if self._study("plant", name).trial(number)["origin"] == "told":
                raise Refused(404, "no_diagnostics")
            asked = reply.body
            assert asked["first_trial"] <= number < asked["first_trial"] + asked["count"]

        def expected_best(reply: Reply) -> None:
            if (found := self._study("plant", name).best) is None:
                raise Refused(404, "no_completed_trial")
            assert timed(reply.body) == found

        self._agrees(shown, expected)
        self._agrees(made, expected_made)
        self._agrees(best, expected_best)

    @rule(name=names, state=st.sampled_from(truth.STATES), order=st.sampled_from(["asc", "desc"]))
    def read_all(self, name: str, state: str, order: str) -> None:
        """In pages of two, of one state; as columns; as CSV."""
        path = self._path("plant", name, True)
        study = self.studies.get(("plant", name))
        if study is None:
            for part in ("trials", "series", "trials.csv", "decomposition", "decomposition/history"):
                _refused(self._call("plant", "GET", f"{path}/{part}"), Refused(404, "study_not_found"))
            return
        found, cursor = [], ""
        while True:
            page = self._call("plant", "GET", f"{path}/trials?limit=2&state={state}&order={order}{cursor}").body
            found += [timed(trial) for trial in page["trials"]]
            if page["next_cursor"] is None:
                break
            cursor = f"&cursor={page['next_cursor']}"
        step = 1 if order == "asc" else -1
        assert found == [trial for trial in study.trials if trial["state"] == state][::step]
        series = self._call("plant", "GET", f"{path}/series").body
        assert series["values"] == [trial["value"] for trial in study.trials]
        rows = self._call("plant", "GET", f"{path}/trials.csv").content.decode().splitlines()
        assert len(rows) == 1 + len(study.trials)
        assert self._call("plant", "GET", f"{path}/decomposition").body["mode"] == study.spec["decomposition"]["mode"]
        history = self._call("plant", "GET", f"{path}/decomposition/history").body["history"]
        assert {entry["trial"] for entry in history} <= {t["number"] for t in study.trials if t["origin"] == "dumbo"}

    @rule(seconds=jumps)
    def turn_clock(self, seconds: float) -> None:
        self.site.turn_clock(list(self.workspaces.values()), seconds)
        for study in self.studies.values():
            study.turn_clock(seconds)

    @rule(i=st.integers(0, 1))
    def restart(self, i: int) -> None:
        self.site.restart(i)

    @rule()
    def revoke(self) -> None:
        """A key is worth nothing from the moment it is revoked; others go on."""
        admin = f"Bearer {self.site.token(self.workspaces['plant'], 'admin')}"
        key = self.site.call(0, "POST", "/v1/keys", {"name": "short", "role": "write"}, Authorization=admin).body
        bearer = f"Bearer {key['token']}"
        assert self.site.call(1, "GET", "/v1/studies", Authorization=bearer).status == 200
        assert self.site.call(0, "DELETE", f"/v1/keys/{key['id']}", Authorization=admin).status == 204
        _refused(self.site.call(1, "GET", "/v1/studies", Authorization=bearer), Refused(401, "unauthorized"))
        listed = self.site.call(1, "GET", "/v1/keys", Authorization=admin).body["keys"]
        assert [bool(k["revoked_at"]) for k in listed if k["id"] == key["id"]] == [True]

    def _has_changed(self, study: Study) -> None:
        """Its next revision must be greater than the last one seen."""
        revision, _ = self.tags.get(study.id, (-1, ""))
        self.tags[study.id] = (revision, "changed")

    def _check_study(self, study: Study, shown: JSON) -> None:
        assert {part: shown[part] for part in study.spec} == study.spec
        assert (shown["state"], shown["metadata"]) == (study.state, study.metadata)
        assert shown["trial_counts"] == study.counts
        assert (shown["best"] and timed(shown["best"])) == study.best
        assert datetime.fromisoformat(shown["created_at"]) == study.created_at

    @invariant()
    def all_agree(self) -> None:
        """Every study and every trial is as the model has it, and nothing else is there."""
        for who in ("plant", "lab"):
            listed = self._call(who, "GET", "/v1/studies").body["studies"]
            mine = [study for (space, _), study in self.studies.items() if space == who]
            assert [s["id"] for s in listed] == [s.id for s in sorted(mine, key=_place, reverse=True)]
            for study in mine:
                shown = next(s for s in listed if s["id"] == study.id)
                self._check_study(study, shown)
                self._check_trials(who, study, shown["revision"])

    def _check_trials(self, who: str, study: Study, seen: int) -> None:
        """The trials; and a tag that was seen before is worth a 304 exactly if nothing has changed since."""
        path = f"/v1/studies/{study.id}/trials"
        revision, tag = self.tags.get(study.id, (-1, "changed"))
        if tag != "changed":
            assert self._call(who, "GET", path, If_None_Match=tag).status == 304
            return
        reply = self._call(who, "GET", path)
        assert [timed(trial) for trial in reply.body["trials"]] == study.trials
        assert seen > revision
        assert reply.etag is not None
        self.tags[study.id] = (seen, reply.etag)


def _place(study: Study) -> tuple[datetime, str]:
    return study.created_at, study.id


def _refused(reply: Reply, refusal: Refused) -> None:
    assert reply.status == refusal.status, (reply, refusal)
    assert reply.body["code"] == refusal.code, (reply, refusal)
