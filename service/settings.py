"""Every setting of the service, from the environment (prefix `DUMBO_`), each with its default and meaning.

`dumbo serve --help` prints this list. Nothing is read at import: `Settings()` reads the environment.
"""

from __future__ import annotations

import ipaddress
import os
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX = "DUMBO_"
WORKER_START_MB = 300  # measured: 270 once it is warm


class Settings(BaseSettings):
    """What an operator can set."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True)

    # Where it listens, and where the data lies
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    database_url: str = Field(
        "sqlite:///dumbo.db",
        description="sqlite:///FILE (relative to the working directory) or postgresql://USER:PASSWORD@HOST/NAME.",
    )

    # Who may call
    auth: Literal["auto", "on", "off"] = Field(
        "auto",
        description="API keys: on, off, or auto (off on a loopback address, on elsewhere). "
        "Elsewhere serve refuses to start without a key, unless this says off.",
    )
    first_key_file: Path | None = Field(
        None,
        description="If keys are needed and there is none, write a new admin key to this file (mode 600).",
    )

    # Compute
    workers: int = Field(
        default_factory=lambda: min(os.cpu_count() or 1, 8),
        ge=1,
        le=256,
        description="Worker processes that compute asks and predictions (default: one per core, at most 8).",
    )
    ask_deadline: float = Field(
        60.0,
        gt=0,
        le=3600,
        description="Seconds an ask may compute. The model is told to be done in three quarters of it; at "
        "the deadline its worker is killed and the ask answered with a random point, labelled so.",
    )
    ask_wait: float = Field(
        300.0,
        gt=0,
        description="Seconds an ask may wait for its turn and for a worker; after that it gets 503.",
    )
    queue_size: int = Field(
        256,
        ge=0,
        description="Asks and predictions that may wait for a worker; more get 503 with Retry-After.",
    )
    worker_memory_mb: int = Field(
        4096,
        ge=0,
        description="Memory one worker may take beyond the shared libraries, in MB; 0 sets no limit. A worker takes "
        f"{WORKER_START_MB} to start, and 640 for an ask with 100 parameters and 1,000 trials; an ask that would take "
        "more than the limit gets a random point, labelled so.",
    )

    # Limits
    lease_seconds: float = Field(
        86400.0,
        gt=0,
        description="How long a trial stays with who asked for it, unless the ask says otherwise. After that it "
        "may be handed to another, so it should exceed the longest evaluation.",
    )
    max_lease_seconds: float = Field(30 * 86400.0, gt=0, description="The longest lease an ask may take.")
    max_body_bytes: int = Field(8 * 2**20, gt=0, description="Largest request body; beyond it 413.")
    max_parameters: int = Field(1000, ge=1, description="Parameters of one study.")
    max_values: int = Field(1000, ge=1, description="Values of one ordinal or categorical parameter.")
    max_count: int = Field(100, ge=1, description="Trials of one ask.")
    max_trials: int = Field(100_000, ge=1, description="Trials of one study.")
    max_results: int = Field(1000, ge=1, description="Results of one tell.")
    max_points: int = Field(1000, ge=1, description="Points of one prediction.")
    max_name_length: int = Field(100, ge=1, le=1000, description="Characters of a name.")
    max_metadata_bytes: int = Field(16 * 1024, ge=2, description="Size of a study's metadata, as JSON.")
    max_nesting: int = Field(32, ge=8, le=200, description="Levels of lists and objects inside a body.")
    idempotency_hours: float = Field(
        7 * 24.0, gt=0, description="How long the answer to an Idempotency-Key is kept and replayed."
    )
    header_timeout: float = Field(10.0, gt=0, description="Seconds a client may take to send a request's head.")
    body_timeout: float = Field(60.0, gt=0, description="Seconds a client may take to send a request's body.")
    max_connections: int = Field(
        4096, ge=1, description="Connections of clients, idle ones included; more get 503 and are closed."
    )
    shutdown_timeout: int = Field(
        30, ge=0, description="Seconds that requests in flight get to finish after SIGTERM or SIGINT."
    )

    # Logs
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least severe entry logged.")
    log_format: Literal["json", "console"] = Field("json", description="JSON lines, or text for people.")

    @field_validator("worker_memory_mb")
    @classmethod
    def _is_enough(cls, limit: int) -> int:
        if 0 < limit < WORKER_START_MB:
            raise ValueError(f"no worker could start with less than {WORKER_START_MB}; 0 sets no limit")
        return limit

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach the address; of names, only localhost counts."""
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return self.host == "localhost"

    @cached_property
    def auth_required(self) -> bool:
        return self.auth == "on" or (self.auth == "auto" and not self.on_loopback)


def unknown_variables() -> list[str]:
    """Variables of the environment that look like settings and are none: most likely misspelt."""
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    return sorted(name for name in os.environ if name.startswith(PREFIX) and name not in known)
