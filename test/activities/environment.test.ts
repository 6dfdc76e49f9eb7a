// Tier: integration (a real process of the agent's own environment).
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { routeTasks } from '../../activities/evaluate/route-tasks';
import { targetProfileReader } from '../../activities/target-profile/read-target-profile';
import { preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import type { RunContext } from '../../contracts/messages/run-context';
import { getJson, layout, putJson } from '../../store';
import { logitsRouter } from './evaluate/logits-router';
import { RunFixture } from './run-fixture';

describe("an agent's own environment that cannot be imported", () => {
  let fixture: RunFixture;
  beforeEach(() => void (fixture = new RunFixture()));
  afterEach(() => fixture.dispose());

  /** A run whose environment imports what is no longer there: its own file has not changed. */
  async function prepare(): Promise<RunContext> {
    const context = await fixture.prepare('http://127.0.0.1:9/v1');
    const prepared = await getJson(fixture.store, context.spec, preparedSpecSchema);
    const source = 'import no_such_module\nclass Environment:\n    pass\n';
    const environmentPath = join(fixture.folder, 'broken.py');
    writeFileSync(environmentPath, source);
    const environmentSha256 = createHash('sha256').update(source).digest('hex');
    const changed = { ...prepared, environmentPath, environmentSha256 };
    return { ...context, spec: await putJson(fixture.store, layout.run('run-1'), 'spec.json', changed) };
  }
  const waits = { type: 'Environment.Failed', nonRetryable: true, message: expect.stringContaining('no_such_module') };

  test('makes synthesis wait', async () => {
    const context = await prepare();
    const prepared = await getJson(fixture.store, context.spec, preparedSpecSchema);
    const { signal } = new AbortController();
    const read = () => targetProfileReader(fixture.deps)(context, prepared, signal);
    await expect(fixture.run(read, context)).rejects.toMatchObject(waits);
  });

  test('makes routing wait', async () => {
    const capabilities = [{ id: 'stamps', name: 'Stamps', summary: 'puts stamps on' }];
    const router = await logitsRouter(fixture.store, capabilities);
    const input = { context: await prepare(), capabilities, router, name: 'routing' };
    await expect(fixture.run(routeTasks.bind(null, fixture.deps), input)).rejects.toMatchObject(waits);
  });
});
