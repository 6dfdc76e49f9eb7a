import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { preparedSpecSchema } from '../../contracts/artifacts/prepared-spec';
import type { Registry } from '../../contracts/artifacts/registry';
import { AGENT_NAME } from '../../contracts/config/agent-name';
import { type ArtifactStore, isMissing, layout, readRegistry, readWholeFile, StoreCorruptError } from '../../store';
import { CliError } from '../errors';
import { agentOf } from '../view/run-state';
import { idOf, ownerOf, type RunFacts } from './plan';
import { isRun, type Unit } from './units';

/** Largest document that is searched for references. Documents of a run have a few KB; label plans have some MB. */
const MOST_BYTES = 64 << 20;

/**
 * The registries of all agents. @throws CliError if one cannot be read, because the needs of its versions are then
 * unknown.
 */
export async function readRegistries(store: ArtifactStore): Promise<Registry[]> {
  const names = (await store.list('registry')).flatMap((file) => /^(.*)\.json$/.exec(file)?.[1] ?? []);
  return Promise.all(
    names
      .filter((agent) => AGENT_NAME.test(agent))
      .map((agent) =>
        readRegistry(store, agent).catch((cause: unknown) => {
          throw new CliError(
            `The registry ${layout.registry(agent)} cannot be read, so nobody can tell what its versions need: ` +
              `${(cause as Error).message} Nothing was removed.`,
            { type: 'Gc.RegistryUnreadable', cause },
          );
        }),
      ),
  );
}

/** Agents of the runs in the store, from their frozen specs, else from their ids. */
export async function readAgents(store: ArtifactStore, units: readonly Unit[]): Promise<Map<string, string>> {
  const agents = new Map<string, string>();
  for (const unit of units.filter(isRun)) {
    const spec = unit.files.find((file) => /\/spec-[0-9a-f]{12}\.json$/.test(file));
    const name = spec === undefined ? null : await agentOfSpec(store, spec);
    const agent = name ?? /^(?:run|study)-(.+?)-\d{4}-?\d{2}-?\d{2}/.exec(idOf(unit))?.[1];
    if (agent !== undefined) agents.set(idOf(unit), agent);
  }
  return agents;
}

async function agentOfSpec(store: ArtifactStore, key: string): Promise<string | null> {
  try {
    return preparedSpecSchema.parse(
      JSON.parse((await readWholeFile(store.localPath(key), MOST_BYTES)).toString('utf8')),
    ).spec.name;
  } catch {
    return null;
  }
}

/**
 * Reads a document as text. Empty if it does not exist, or cannot contain references (too large, or a pipe). Rejects
 * with CliError if it cannot be read at the moment. Otherwise, everything that the document refers to would look unused
 * and be removed.
 */
export const documentReader =
  (store: ArtifactStore) =>
  async (key: string): Promise<string> => {
    const path = store.localPath(key);
    try {
      return (await readWholeFile(path, MOST_BYTES)).toString('utf8');
    } catch (cause) {
      if (isMissing(cause) || cause instanceof StoreCorruptError) return '';
      throw new CliError(
        `${path} cannot be read (${(cause as Error).message}), and what it needs must not be removed. ` +
          'No file was removed.',
        { type: 'Gc.DocumentUnreadable', cause },
      );
    }
  };

/** Ids of the runs and studies that have not ended, with their agents. @throws errors of the server. */
export async function openRuns(client: Client): Promise<Map<string, string | null>> {
  const open = new Map<string, string | null>();
  for await (const info of client.workflow.list({ query: "ExecutionStatus = 'Running' OR ExecutionStatus = 'Paused'" }))
    open.set(info.workflowId.split('/')[0] as string, agentOf(info));
  return open;
}

/**
 * Asks Temporal for all open runs, and for each run and study of the store, because the list may be delayed.
 * @throws errors of the server.
 */
export async function readFacts(
  client: Client,
  units: readonly Unit[],
  agents: Map<string, string>,
  onAsked: (asked: number, of: number) => void,
): Promise<RunFacts> {
  const listed = await openRuns(client);
  for (const [id, agent] of listed) if (agent !== null) agents.set(id, agent);
  const open = new Set(listed.keys());
  const unknown = new Set<string>();
  const owners = new Set(units.filter(isRun).map((unit) => ownerOf(idOf(unit))));
  let asked = 0;
  for (const id of owners) {
    onAsked(++asked, owners.size);
    if (open.has(id)) continue;
    const state = await stateOfRun(client, id);
    if (state === 'open') open.add(id);
    if (state === 'unknown') unknown.add(id);
  }
  return { open, unknown };
}

/** Whether a run has ended. @throws errors of the server. */
export async function stateOfRun(client: Client, id: string): Promise<'open' | 'ended' | 'unknown'> {
  try {
    const { status } = await client.workflow.getHandle(id).describe();
    return status.name === 'RUNNING' || status.name === 'PAUSED' ? 'open' : 'ended';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'unknown';
    throw error;
  }
}
