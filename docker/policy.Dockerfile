# The policy server for small models on CPUs. For real models, use vLLM in its place.
# Build from the project's root: docker build -f docker/policy.Dockerfile .
FROM python:3.11-slim-bookworm
WORKDIR /app
COPY trainer-image/requirements.lock ./
RUN pip install --no-cache-dir -r requirements.lock
COPY trainer-image/whetstone whetstone
RUN useradd --system whetstone
USER whetstone
EXPOSE 8300
ENTRYPOINT ["python", "-m", "whetstone.serve", "--host", "0.0.0.0", "--port", "8300"]
CMD ["--model", "/model", "--served-name", "base"]
