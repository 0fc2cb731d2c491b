# docker build -t dumbo .
# docker run -p 8000:8000 -v data:/data dumbo
#
# The data lie in the volume /data. The server listens on every address of the container, so it asks for API
# keys; at the first start it writes an admin key to /data/first-key, readable by its owner only:
#   docker exec CONTAINER cat /data/first-key
# To let anyone call who reaches the port, add: -e DUMBO_AUTH=off

ARG PYTHON=3.11
FROM python:${PYTHON}-slim AS build
# The package index with CPU builds of torch. Empty: the default index, whose torch may bring GPU libraries along.
ARG TORCH_INDEX=
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_COMPILE=1
WORKDIR /src
RUN python -m venv /opt/dumbo
COPY pyproject.toml README.md requirements.lock ./
# All but torch, each file by its hash. For a PYTHON other than 3.11, write the lock anew with it: make lock
RUN /opt/dumbo/bin/pip install --require-hashes --no-deps -r requirements.lock
RUN if [ -n "$TORCH_INDEX" ]; then \
      /opt/dumbo/bin/pip install --index-url "$TORCH_INDEX" \
        "$(sed -n 's/^ *"\(torch[<>=][^"]*\)".*/\1/p' pyproject.toml)"; \
    fi
COPY core core
COPY migrations migrations
COPY service service
RUN /opt/dumbo/bin/pip install .

FROM python:${PYTHON}-slim
RUN useradd --system --uid 10001 --no-create-home --home-dir /data dumbo \
    && install -d -o dumbo -g dumbo -m 700 /data
COPY --from=build /opt/dumbo /opt/dumbo
ENV PATH=/opt/dumbo/bin:$PATH \
    DUMBO_HOST=0.0.0.0 \
    DUMBO_DATABASE_URL=sqlite:////data/dumbo.db \
    DUMBO_FIRST_KEY_FILE=/data/first-key
USER dumbo
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f\"http://127.0.0.1:{os.environ.get('DUMBO_PORT', 8000)}/readyz\", timeout=4)"]
CMD ["dumbo", "serve"]
