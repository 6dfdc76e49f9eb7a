# The worker with what its activities start: the jail (bubblewrap), environments and the local trainer (Python).
# Build from the project's root: docker build -f docker/worker.Dockerfile .
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
RUN npm run build && npm prune --omit=dev

FROM node:24-bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap python3 python3-venv && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY trainer-image/requirements.lock trainer-image/
RUN python3 -m venv .toolchain/venv && .toolchain/venv/bin/pip install --no-cache-dir -r trainer-image/requirements.lock
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY sandbox sandbox
COPY trainer-image trainer-image
COPY examples examples
# Python that the worker reads at run time, which the compiler does not copy.
COPY activities/environment-checks/inspect_source.py activities/environment-checks/
ENV WHET_HOME=/state
VOLUME /state
ENTRYPOINT ["node", "--enable-source-maps", "dist/workers/main.js"]
CMD ["--queues", "orchestration,llm,sandbox,jobs"]
