/**
 * Fuzzes the gateway with schemathesis on its own OpenAPI document, in front of a fake model server. Fails on a 5xx, an
 * answer that the document does not describe, or a stack in a body: `node dist/test/gateway/fuzz.js [--examples 200]`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { peerPython } from '../helpers/peer-python';
import { GatewayFixture, versionOf } from './gateway-fixture';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { examples: { type: 'string', default: '200' }, seed: { type: 'string', default: '1' } },
  });
  const root = process.cwd();
  const bin = await peerPython(root, join(root, 'test', 'gateway', 'fuzz-requirements.txt'));
  const fixture = await new GatewayFixture().start({ registry: { versions: [versionOf(1, 'weigh')] } });
  const checks = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance';
  // One worker: Python 3.11 miscounts its parser's depth when threads parse at once, and the fuzzer fails by itself.
  const args = [
    'run',
    `${fixture.url}/openapi.json`,
    '--checks',
    checks,
    '--max-examples',
    values.examples,
    '--seed',
    values.seed,
    '--mode',
    'all',
  ];
  const child = spawn(join(bin, 'schemathesis'), args, { stdio: 'inherit', cwd: join(root, '.whetstone') });
  const [code] = (await once(child, 'exit')) as [number | null];
  const { text } = await fixture.get('/metrics');
  const own = [...text.matchAll(/whet_gateway_requests_total\{.*status="(5\d\d)"\} (\d+)/g)].map(
    ([, status, count]) => `${count} x ${status}`,
  );
  console.log(JSON.stringify({ name: 'gateway-fuzz', exitCode: code, serverErrors: own }));
  await fixture.stop();
  process.exitCode = code === 0 && own.length === 0 ? 0 : 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
