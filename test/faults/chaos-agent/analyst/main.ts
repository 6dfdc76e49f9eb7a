/**
 * The demo analyst of `test/faults/chaos`: the one of the orders desk, with a log of every call at its door. `whet up`
 * starts it, because it lies beside the agent.yaml.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../../../../contracts/project-root';
import { openDeskRules } from '../../../../examples/orders-desk/analyst/answers';
import { Journal } from '../../../../examples/shared/analyst/journal';
import { createAnalystServer } from '../../../../examples/shared/analyst/server';
import { DOOR_VARIABLE, logCalls } from '../../chaos-run/door-log';

const string = { type: 'string' } as const;
const { values } = parseArgs({ options: { port: string, journal: string, 'latency-ms': string } });
const path = process.env[DOOR_VARIABLE];
if (path === undefined) throw new Error(`${DOOR_VARIABLE} is not set: test/faults/chaos sets it.`);
const journal = new Journal(values.journal ?? null);
const app = createAnalystServer({
  rules: openDeskRules(join(projectRoot(), 'examples', 'orders-desk', 'analyst')),
  journal,
  latencyMs: Number(values['latency-ms'] ?? 0),
});
logCalls(app, path);
const stop = () => void app.close().then(() => journal.close());
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
void app.listen({ port: Number(values.port), host: '127.0.0.1' });
