// tier: integration
import { InMemorySpanExporter } from '@opentelemetry/sdk-trace';
import { createTracing } from '../../gateway/opentelemetry';
import { adapterName, GatewayFixture, versionOf } from './gateway-fixture';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

it('a request is one span with gen_ai attributes, between the client and the model server', async () => {
  const exporter = new InMemorySpanExporter();
  let spans: ReturnType<InMemorySpanExporter['getFinishedSpans']> = [];
  // Stopping the provider empties the exporter.
  const shutdown = exporter.shutdown.bind(exporter);
  exporter.shutdown = () => ((spans = [...exporter.getFinishedSpans()]), shutdown());
  const tracing = await createTracing({}, exporter);
  const fixture = await new GatewayFixture().start({ registry: { versions: [versionOf(1, 'weigh')] }, tracing });
  await fixture.chat(
    'need:weigh',
    {},
    { traceparent: `00-${TRACE}-b7ad6b7169203331-01`, 'x-whet-conversation': 'c-1' },
  );
  await fixture.chat('need:weigh', { model: 'nobody' });
  const [seen] = fixture.replicas[0]!.completions();
  await fixture.stop();
  expect(spans.map(({ name }) => name)).toEqual(['chat', 'chat']);
  const [first, second] = spans;
  expect(first?.spanContext().traceId).toBe(TRACE);
  expect(seen?.headers['traceparent']).toBe(`00-${TRACE}-${first?.spanContext().spanId}-01`);
  expect(first?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'desk',
    'gen_ai.response.model': adapterName('weigh', 1),
    'gen_ai.agent.name': 'desk',
    'gen_ai.conversation.id': 'c-1',
    'whet.route': 'routed',
    'whet.version': 1,
    'http.response.status_code': 200,
  });
  expect(second?.attributes).toMatchObject({ 'http.response.status_code': 404, 'error.type': '404' });
  expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain('need:weigh');
});

it('is off unless an endpoint is set', async () => {
  expect(await createTracing({})).toBeNull();
});
