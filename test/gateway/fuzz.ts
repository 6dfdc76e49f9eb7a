/**
 * Fuzzes the gateway with schemathesis on its own OpenAPI document, in front of a fake model server. Fails on a 5xx, an answer that the
 * document does not describe, or a stack in a body. `node dist/test/gateway/fuzz.js [--examples 200]`; schemathesis is installed with
 * `uv venv .whetstone/bench/clients && uv pip install --python .whetstone/bench/clients/bin/python schemathesis`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { GatewayFixture, versionOf } from './gateway-fixture';

const COMMAND = join(process.cwd(), '.whetstone', 'bench', 'clients', 'bin', 'schemathesis');

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { examples: { type: 'string', default: '200' }, seed: { type: 'string', default: '1' } } });
  if (!existsSync(COMMAND)) throw new Error(`${COMMAND} is missing: the head of this file says how to install it.`);
  const fixture = await new GatewayFixture().start({ registry: { versions: [versionOf(1, 'weigh')] } });
  const checks = 'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance';
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
    '--workers',
    '2',
  ];
  const child = spawn(COMMAND, args, { stdio: 'inherit', cwd: join(process.cwd(), '.whetstone') });
  const [code] = (await once(child, 'exit')) as [number | null];
  const { text } = await fixture.get('/metrics');
  const own = [...text.matchAll(/whet_gateway_requests_total\{.*status="(5\d\d)"\} (\d+)/g)].map(([, status, count]) => `${count} x ${status}`);
  console.log(JSON.stringify({ name: 'gateway-fuzz', exitCode: code, serverErrors: own }));
  await fixture.stop();
  process.exitCode = code === 0 && own.length === 0 ? 0 : 1;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
