import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { stringify } from 'yaml';
import { AGENT_NAME } from '../../contracts/config/agent-name';
import { CONVERSATIONS } from '../../contracts/config/environment-kinds';
import { makePrivateFolder, replaceFile } from '../../store';

/**
 * The name of an agent that nobody named: the first file's, as far as a name may have its characters. Null: it gives
 * none, and one for all such files would mix their agents.
 */
export function agentOfFile(file: string): string | null {
  const [words = ''] = basename(file).toLowerCase().split('.');
  const name = words.replace(/[^a-z0-9]+/g, '-').replace(/^[^a-z]+|-+$/g, '');
  return AGENT_NAME.test(name) ? name : null;
}

/**
 * The agent.yaml of an agent of which there are conversations alone. It is written where there is none; one that its
 * owner has changed stays.
 * @param home the state directory.
 * @returns its path.
 */
export async function makeAgentFile(home: string, name: string): Promise<string> {
  const folder = join(home, 'diagnose', name);
  const path = join(folder, 'agent.yaml');
  if (existsSync(path)) return path;
  await makePrivateFolder(home);
  await makePrivateFolder(folder);
  await replaceFile(
    path,
    '# Written by `whet diagnose`. docs/reference/agent.md has every field; what you change stays.\n' +
      stringify({ version: 1, name, environment: CONVERSATIONS }) +
      '# What the gateway saw is left out, because the estimate of the cost does not know it:\n' +
      stringify({ collect: { live: { most: 0 } } }) +
      '# With prices it says what a diagnosis costs:\n' +
      '# analyst: { pricePerMillionInput: 1.25, pricePerMillionOutput: 10 }\n',
  );
  return path;
}
