# The policy server for small models on CPUs. For real models, use vLLM in its place.
# Build from the project's root: docker build -f docker/policy.Dockerfile .
# The digest is that of 3.11.16-slim-bookworm.
FROM python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b
WORKDIR /app
COPY trainer-image/requirements.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock
COPY trainer-image/whetstone whetstone
# A volume that is first mounted at /state belongs to this user, who is the worker's as well.
RUN useradd --uid 10001 --user-group --no-create-home whetstone && install -d -o whetstone -g whetstone /state
USER 10001:10001
# 8300 is for clients. Adapters and metrics are at 8301, which only workers, gateways and scrapers need to reach.
EXPOSE 8300 8301
ENTRYPOINT ["python", "-m", "whetstone.serve", "--host", "0.0.0.0", "--port", "8300", \
  "--admin-host", "0.0.0.0", "--admin-port", "8301"]
CMD ["--model", "/model", "--served-name", "base"]
