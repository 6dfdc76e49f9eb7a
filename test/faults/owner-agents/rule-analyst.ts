import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openRuleBook } from '../../../examples/shared/analyst/answers';
import { Journal } from '../../../examples/shared/analyst/journal';
import { createAnalystServer } from '../../../examples/shared/analyst/server';
import { logCalls } from '../chaos-run/door-log';

const CAPABILITY = {
  id: 'keep-notes',
  name: 'Keep notes',
  summary: 'The agent keeps notes',
  description: 'The agent keeps a note of what the user says.',
};

/**
 * Starts an analyst with one capability, which tasks of even seeds lack. Half of those succeed, so that it is not kept
 * and the run ends with its report.
 * @param folder for its files, which outlive every kill.
 * @param doorLog gets a line for each call.
 */
export async function startAnalyst(folder: string, doorLog: string, latencyMs: number) {
  writeFileSync(join(folder, 'capabilities.json'), JSON.stringify([CAPABILITY]));
  const rules = openRuleBook({
    model: 'rule-based',
    name: 'rule-based analyst',
    directory: folder,
    judge: (_id, episode) => {
      const isEven = Number(/This is task (\d+)/.exec(episode)?.[1]) % 2 === 0;
      return isEven
        ? { label: 'LACKING', step: null, reason: 'It keeps no notes.' }
        : { label: 'PRESENT', step: null, reason: 'It keeps notes.' };
    },
  });
  const journal = new Journal(join(folder, 'journal.jsonl'));
  const app = createAnalystServer({ rules, journal, latencyMs });
  logCalls(app, doorLog);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const close = async (): Promise<void> => {
    await app.close();
    await journal.close();
  };
  return { baseUrl: `${url}/v1`, close };
}
