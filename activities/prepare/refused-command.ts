import { dirname, join, resolve } from 'node:path';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { commandOf } from '../../contracts/config/environment-kinds';
import { refusedWishes, type Wish, type WorkerPolicy } from '../../contracts/config/operator-policy';
import { isWithin, realPlace } from '../../contracts/paths';
import { projectRoot } from '../../contracts/project-root';
import { programPath } from '../../sandbox';

/** Folders of the system's programs, which the jail of a command shows in any case. */
const SYSTEM = ['/usr', '/bin'];

/** Where `whet env add` installs packages. */
const addedByWhet = (): string => resolve(process.env['WHET_HOME'] || '.whetstone', 'environments');

/**
 * Says what the commands of an environment ask for and the operator's policy does not allow: a line for each field,
 * with the entry that would allow it. Null: all of it is allowed, or the environment has no command.
 * @param specPath of the agent.yaml.
 * @param allowsOwnFolders whether variables, and programs in the agent's own folder or the system's, need no entry.
 *   Secrets do.
 */
export function refusedCommand(
  worker: WorkerPolicy,
  { name, environment }: AgentSpec,
  specPath: string,
  allowsOwnFolders: boolean,
): string | null {
  const asked = commandOf(environment);
  if (asked === null) return null;
  const agentFolder = dirname(resolve(specPath));
  // The presets' servers are this project's own code.
  const free = [join(projectRoot(), 'targets'), ...(allowsOwnFolders ? [agentFolder, addedByWhet(), ...SYSTEM] : [])];
  const isFree = (path: string) => free.some((folder) => isWithin(path, folder));
  const isReallyFree = (path: string) => free.some((folder) => isWithin(realPlace(path), realPlace(folder)));
  // Those of a short form are this project's. A variable can make a program load other code, so each one is asked for.
  const variables = 'variables' in environment && !allowsOwnFolders ? environment.variables : {};
  const wishes: Wish[] = [
    ...asked.commands.flatMap(({ field, command: [program = '', ...words] }): Wish[] => {
      const path = programPath(program, agentFolder) ?? resolve(agentFolder, program);
      const value = [path, ...words.map(quoted)].join(' ');
      return isFree(path) ? [] : [{ field: `environment.${field}`, value, list: 'commands' }];
    }),
    ...asked.folders.flatMap((folder, index): Wish[] => {
      const path = resolve(agentFolder, folder);
      // The jail shows what a link leads to, and whoever may write the agent's folder may put a link there.
      const value = isFree(path) ? realPlace(path) : path;
      const needsNoEntry = isFree(path) && isReallyFree(path);
      return needsNoEntry ? [] : [{ field: `environment.folders.${index}`, value, list: 'folders' }];
    }),
    ...asked.secrets.map((value, index): Wish => ({ field: `environment.secrets.${index}`, value, list: 'secrets' })),
    ...Object.entries(variables).map(([variable, value]): Wish => ({
      field: `environment.variables.${variable}`,
      value: `${variable}=${value}`,
      list: 'variables',
    })),
  ];
  return refusedWishes(worker, name, wishes);
}

/** A word as a policy writes it: with quotes where it would look like two words. */
const quoted = (word: string): string => (/^"|\s/.test(word) ? JSON.stringify(word) : word);
