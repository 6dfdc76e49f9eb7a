import { z } from 'zod';
import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { trajectorySchema } from '../../contracts/artifacts/trajectory';
import type { LocalStore } from '../../store';
import { keys, type LineageGraph } from './graph';

/** What links a conversation. */
const headSchema = z.object({ id: z.string(), answeredBy: trajectorySchema.shape.answeredBy.unwrap() });
type Head = z.infer<typeof headSchema>;
const liveSchema = z.object({ task: z.object({ split: z.literal('live') }) });

/** The conversations in a file that a gateway wrote. A line without a head is ignored. */
export async function addTraces(
  graph: LineageGraph,
  store: LocalStore,
  agent: string,
  day: string,
  file: string,
): Promise<void> {
  const adapters = adaptersOf(graph, agent);
  for (const line of (await store.getNamed(file)).toString('utf8').split('\n')) {
    const head = headSchema.safeParse(parsed(line)).data;
    if (head !== undefined) addConversation(graph, agent, adapters, head, day);
  }
}

/**
 * The conversations of live traffic that a run learned from, each with its trajectory. The run's file outlives the
 * gateway's file, which `whet gc` removes.
 */
export async function addCollected(
  graph: LineageGraph,
  store: LocalStore,
  { agent, runId }: { agent: string; runId: string },
  collected: ArtifactRef,
): Promise<void> {
  const adapters = adaptersOf(graph, agent);
  for await (const { line } of store.lines(collected)) {
    const value = parsed(line.toString('utf8'));
    const head = liveSchema.safeParse(value).success ? headSchema.safeParse(value).data : undefined;
    if (head === undefined) continue;
    const about = `live traffic that ${runId} learned from`;
    graph.add(keys.trajectory(head.id), { kind: 'trajectory', id: head.id, agent, about });
    addConversation(graph, agent, adapters, head, `collected by ${runId}`);
  }
}

/** Keys of the agent's adapters, by name. */
const adaptersOf = (graph: LineageGraph, agent: string): ReadonlyMap<string, string> =>
  new Map(graph.find((item) => item.kind === 'adapter' && item.agent === agent).map(([key, { id }]) => [id, key]));

/**
 * A conversation comes from every adapter that answered it, and from the versions whose routers chose them. A
 * conversation that a run collected is a trajectory with the same id.
 */
function addConversation(
  graph: LineageGraph,
  agent: string,
  adapters: ReadonlyMap<string, string>,
  { id, answeredBy }: Head,
  when: string,
): void {
  const key = keys.conversation(id);
  graph.add(key, { kind: 'conversation', id, agent, about: `${when}, answered by ${answeredText(answeredBy)}` });
  graph.link(key, keys.trajectory(id));
  for (const { model: one, version } of answeredBy) {
    const adapter = adapters.get(one);
    if (adapter !== undefined) graph.link(adapter, key);
    if (version !== null) graph.link(keys.version(agent, version), key);
  }
}

function answeredText(answeredBy: Head['answeredBy']): string {
  return answeredBy
    .map(({ model: one, version }) => `${one} ${version === null ? 'of no version' : `of version ${version}`}`)
    .join(', then ');
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
