/**
 * OpenTelemetry: one span per inference request, with the gen_ai attributes of the semantic conventions. The contents
 * of messages are never attributes. It is on if OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is
 * set; otherwise the libraries are not even loaded.
 */
import type { IncomingMessage } from 'node:http';
import type { Attributes, Span, Tracer } from '@opentelemetry/api';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

/** The span of one request. */
export interface RequestSpan {
  /** Header `traceparent` for the model server, whose spans then become children of this one. */
  readonly traceparent: string;
  /** Adds attributes. */
  set(attributes: Attributes): void;
  /** Ends the span; `status` is the answer's HTTP status. */
  end(status: string): void;
}

/** Makes the spans of requests. */
export interface Tracing {
  /** Starts a span; `operation` is its name and `gen_ai.operation.name`. */
  start(request: IncomingMessage, operation: string): RequestSpan;
  /** Exports the waiting spans. */
  stop(): Promise<void>;
}

/** Null if no endpoint is set, unless an exporter is given, as in tests. */
export async function createTracing(
  environment: NodeJS.ProcessEnv = process.env,
  exporter?: SpanExporter,
): Promise<Tracing | null> {
  const isSet = Boolean(
    environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || environment['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'],
  );
  if (!isSet && exporter === undefined) return null;
  const [{ BatchSpanProcessor, TracerProvider }, { resourceFromAttributes }, { OTLPTraceExporter }] = await Promise.all(
    [
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ],
  );
  const api = await import('@opentelemetry/api');
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': environment['OTEL_SERVICE_NAME'] || 'whetstone-gateway' }),
    spanProcessors: [new BatchSpanProcessor({ exporter: exporter ?? new OTLPTraceExporter() })],
  });
  const tracer: Tracer = provider.getTracer('whetstone-gateway');
  return {
    start({ headers }, operation) {
      const parent = parentOf(headers['traceparent']);
      const context =
        parent === null ? api.ROOT_CONTEXT : api.trace.setSpanContext(api.ROOT_CONTEXT, { ...parent, isRemote: true });
      const attributes = { 'gen_ai.operation.name': operation, 'gen_ai.provider.name': 'whetstone' };
      return requestSpan(
        tracer.startSpan(operation, { kind: api.SpanKind.SERVER, attributes }, context),
        api.SpanStatusCode.ERROR,
      );
    },
    stop: () => provider.shutdown(),
  };
}

function requestSpan(span: Span, errorCode: number): RequestSpan {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
    set: (attributes) => void span.setAttributes(attributes),
    end(status) {
      span.setAttribute('http.response.status_code', Number(status));
      if (Number(status) >= 400) span.setAttribute('error.type', status).setStatus({ code: errorCode });
      span.end();
    },
  };
}

/** The span in a `traceparent` header (W3C trace context, version 00); null for anything else. */
function parentOf(
  header: string | string[] | undefined,
): { traceId: string; spanId: string; traceFlags: number } | null {
  const match = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(typeof header === 'string' ? header : '');
  return match === null
    ? null
    : { traceId: match[1] as string, spanId: match[2] as string, traceFlags: Number.parseInt(match[3] as string, 16) };
}
