# The worker with what its activities start: the jail (bubblewrap), environments and the local trainer (Python).
# Build from the project's root: docker build -f docker/worker.Dockerfile .
# The digest is that of 24.18.0-bookworm-slim, for amd64 and arm64.
FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap python3 python3-venv && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY trainer-image/requirements.lock trainer-image/
RUN python3 -m venv .toolchain/venv \
    && .toolchain/venv/bin/pip install --no-cache-dir --require-hashes -r trainer-image/requirements.lock
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY sandbox sandbox
COPY trainer-image trainer-image
COPY examples examples
COPY targets targets
# Python that the worker reads at run time, which the compiler does not copy.
COPY activities/environment-checks/*.py activities/environment-checks/
ENV WHET_HOME=/state \
    HOME=/tmp
# A volume that is first mounted at /state belongs to this user, who is also the trainers'.
RUN useradd --uid 10001 --user-group --no-create-home whetstone && install -d -o whetstone -g whetstone /state
VOLUME /state
USER 10001:10001
ENTRYPOINT ["node", "--enable-source-maps", "dist/workers/main.js"]
CMD ["--queues", "orchestration,llm,sandbox,jobs"]
