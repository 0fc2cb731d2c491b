"""What is measured: tells against the yardstick, light requests beside heavy asks, and a crowd of clients."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any

import numpy as np

from benchmarks.load.client import Client, Reply

CONNECTIONS = 16
ASK_BATCH = 100
STUDIES = "/v1/studies"
Call = Callable[[Client], Awaitable[Reply]]


@dataclass
class Sample:
    """Latencies of one kind of request, and the answers that were not a success."""

    seconds: list[float] = field(default_factory=list)
    errors: Counter[int] = field(default_factory=Counter)
    elapsed: float = 0.0

    def add(self, reply: Reply) -> None:
        self.seconds.append(reply.seconds)
        if not 200 <= reply.status < 300:
            self.errors[reply.status] += 1

    def percentile(self, q: float) -> float:
        """In milliseconds."""
        return float(np.percentile(self.seconds, q)) * 1000

    @property
    def rate(self) -> float:
        return len(self.seconds) / self.elapsed


def parameters(n: int) -> list[dict[str, Any]]:
    return [{"name": f"x{i}", "type": "float", "bounds": [0.0, 1.0]} for i in range(n)]


@asynccontextmanager
async def clients(url: str, n: int) -> AsyncIterator[list[Client]]:
    opened = [await Client.open(url) for _ in range(n)]
    yield opened
    for client in opened:
        client.close()


async def hammer(url: str, calls: Sequence[Iterator[Call]], seconds: float) -> Sample:
    """Each connection makes its calls one after the other, as fast as they are answered."""
    sample = Sample()

    async def work(client: Client, mine: Iterator[Call]) -> None:
        for call in mine:
            sample.add(await call(client))
            if time.perf_counter() > end:
                return

    async with clients(url, len(calls)) as opened:
        started = time.perf_counter()
        end = started + seconds
        await asyncio.gather(*map(work, opened, calls))
        sample.elapsed = time.perf_counter() - started
    return sample


async def bare_tells(url: str, rows: int, seconds: float) -> Sample:
    """One-row transactions on the yardstick."""
    numbers = cycle(range(rows))
    calls = [(_post("/tell", {"trial": n, "value": 0.5}) for n in numbers) for _ in range(CONNECTIONS)]
    return await hammer(url, calls, seconds)


async def service_tells(url: str, studies: int, seconds: float, expected_rate: float) -> Sample:
    """Results of asked trials, all connections on one study or each on its own."""
    wanted = int(expected_rate * seconds / studies / ASK_BATCH) + 1
    calls: list[Iterator[Call]] = []
    async with clients(url, 1) as [client]:
        for study in range(studies):
            name = f"tells-{studies}-{study}"
            # Asks only provide trials here, so none of them needs the model.
            design = {"algorithm": {"initial_trials": 10**6}}
            spec = {"name": name, "direction": "minimize", "parameters": parameters(4), **design}
            await client.expect("POST", STUDIES, spec)
            for _ in range(wanted):
                await client.expect("POST", f"{STUDIES}/{name}/ask", {"count": ASK_BATCH})
            numbers = iter(range(wanted * ASK_BATCH))
            shared = CONNECTIONS // studies
            calls += [_tells(name, numbers) for _ in range(shared)]
    return await hammer(url, calls, seconds)


def _tells(study: str, numbers: Iterator[int]) -> Iterator[Call]:
    for n in numbers:
        yield _post(f"{STUDIES}/{study}/tell", {"trial": n, "value": random.random()})


def _post(path: str, body: Any) -> Call:
    return lambda client: client.post(path, body)


@dataclass
class Beside:
    """Light requests, idle and while asks compute."""

    tells: tuple[Sample, Sample]
    reads: tuple[Sample, Sample]
    asks: Sample


PACE = 0.01  # seconds between light requests: latency is wanted here, not throughput
HEAVY_DIMS, HEAVY_TRIALS = 16, 120


async def light_beside_heavy(url: str, asks: int, seconds: float) -> Beside:
    """The p99 of tells and reads while `asks` asks compute without a pause, against that of an idle server.

    However slow the machine, it goes on until each of the studies has got an answer.
    """
    names = [f"heavy-{i}" for i in range(asks)]
    async with clients(url, 1) as [client]:
        for name in names:
            await _fill(client, name)
        await client.expect("POST", STUDIES, {"name": "light", "direction": "minimize", "parameters": parameters(2)})
    idle = await _light(url, seconds)
    heavy = {name: Sample() for name in names}
    busy = [asyncio.create_task(_ask_on(url, name, sample)) for name, sample in heavy.items()]
    await asyncio.sleep(min(seconds / 4, 2.0))
    beside = await _light(url, seconds, lambda: all(sample.seconds for sample in heavy.values()) or _ended(busy))
    for task in busy:
        task.cancel()
    await asyncio.gather(*busy, return_exceptions=True)
    answered = Sample([latency for sample in heavy.values() for latency in sample.seconds])
    return Beside((idle[0], beside[0]), (idle[1], beside[1]), answered)


def _ended(tasks: Sequence[asyncio.Task[None]]) -> bool:
    """Whether one of these, which go on until they are cancelled, has failed; then that is raised."""
    for task in tasks:
        if task.done():
            task.result()
    return False


async def _fill(client: Client, name: str) -> None:
    """A study with a history that makes the next ask expensive."""
    spec = {"name": name, "direction": "minimize", "parameters": parameters(HEAVY_DIMS)}
    await client.expect("POST", STUDIES, spec)
    rng = random.Random(name)
    told = []
    for _ in range(HEAVY_TRIALS):
        point = {f"x{i}": rng.random() for i in range(HEAVY_DIMS)}
        told.append({"parameters": point, "value": sum((x - 0.3) ** 2 for x in point.values())})
    await client.expect("POST", f"{STUDIES}/{name}/tell", {"results": told})


async def _ask_on(url: str, name: str, sample: Sample) -> None:
    async with clients(url, 1) as [client]:
        while True:
            started = time.perf_counter()
            await client.expect("POST", f"{STUDIES}/{name}/ask")
            sample.seconds.append(time.perf_counter() - started)


async def _light(url: str, seconds: float, enough: Callable[[], bool] = lambda: True) -> tuple[Sample, Sample]:
    """Tells of new points, and reads of what a dashboard shows, each on its own connection."""
    tells = (
        _post(f"{STUDIES}/light/tell", {"parameters": {"x0": 0.5, "x1": random.random()}, "value": 1.0})
        for _ in count()
    )
    paths = [f"{STUDIES}/light", f"{STUDIES}/light/trials?limit=20", f"{STUDIES}/light/best"]
    reads = (_get(path) for path in cycle(paths))
    one, other = await asyncio.gather(_paced(url, tells, seconds, enough), _paced(url, reads, seconds, enough))
    return one, other


def _get(path: str) -> Call:
    return lambda client: client.get(path)


async def _paced(url: str, calls: Iterator[Call], seconds: float, enough: Callable[[], bool]) -> Sample:
    sample = Sample()
    async with clients(url, 1) as [client]:
        started = time.perf_counter()
        for call in calls:
            sample.add(await call(client))
            await asyncio.sleep(PACE)
            if time.perf_counter() > started + seconds and enough():
                break
    sample.elapsed = time.perf_counter() - started
    return sample


@dataclass
class Crowd:
    """What came of many clients on one study."""

    asks: Sample
    tells: Sample
    trials: int
    lost: list[str]  # what is wrong with the stored trials, in words


async def crowd(url: str, n_clients: int, seconds: float) -> Crowd:
    """Clients that ask and tell on one study; afterwards every trial must be there, once, with what was told."""
    study = f"{STUDIES}/crowd"
    asks, tells = Sample(), Sample()
    told: dict[int, float] = {}
    duplicates = Counter[int]()

    async def work(client: Client) -> None:
        while time.perf_counter() < end:
            asked = await client.post(f"{study}/ask")
            asks.add(asked)
            if asked.status != 200:
                continue
            for trial in asked.body["trials"]:
                number, point = trial["number"], trial["parameters"]
                duplicates[number] += 1
                value = (point["x0"] - 0.3) ** 2 + (point["x1"] - 0.6) ** 2
                reply = await client.post(f"{study}/tell", {"trial": number, "value": value})
                tells.add(reply)
                if reply.status == 200:
                    told[number] = value

    async with clients(url, n_clients) as opened:
        spec = {"name": "crowd", "direction": "minimize", "parameters": parameters(2)}
        await opened[0].expect("POST", STUDIES, spec)
        started = time.perf_counter()
        end = started + seconds
        await asyncio.gather(*map(work, opened))
        asks.elapsed = tells.elapsed = time.perf_counter() - started
    async with clients(url, 1) as [client]:  # a new one: those may have been idle for longer than a server keeps them
        stored = await _all_trials(client, study)
    lost = what_is_lost(stored, told, asks, tells)
    lost += [f"trial {number} was handed out {times} times" for number, times in duplicates.items() if times > 1]
    return Crowd(asks, tells, len(stored), lost)


async def _all_trials(client: Client, study: str) -> list[dict[str, Any]]:
    trials: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = await client.expect("GET", f"{study}/trials?limit=500{cursor}")
        trials += page["trials"]
        if page["next_cursor"] is None:
            return trials
        cursor = f"&cursor={page['next_cursor']}"


def what_is_lost(stored: Sequence[dict[str, Any]], told: dict[int, float], asks: Sample, tells: Sample) -> list[str]:
    lost = [
        f"{n} {what} got {status}" for what, s in (("asks", asks), ("tells", tells)) for status, n in s.errors.items()
    ]
    numbers = [trial["number"] for trial in stored]
    if sorted(numbers) != list(range(len(stored))):
        lost.append("trial numbers have gaps or repeat")
    points = Counter(tuple(trial["parameters"].values()) for trial in stored)
    lost += [f"point {point} was proposed {n} times" for point, n in points.items() if n > 1]
    values = {trial["number"]: trial["value"] for trial in stored}
    lost += [f"trial {n} has {values.get(n)}, was told {v}" for n, v in told.items() if values.get(n) != v]
    return lost
