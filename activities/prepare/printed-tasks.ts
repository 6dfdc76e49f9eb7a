import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { type ArtifactRef, artifactRefSchema } from '../../contracts/artifacts/artifact-ref';
import { canonicalJson } from '../../contracts/artifacts/trajectory-id';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import { originOfTasks } from '../../contracts/config/environment-kinds';
import { failure } from '../../contracts/typed-failure';
import { AgentSpecError, withNamedTasks } from '../../loaders/agent-spec';
import { hashesOfNamedFiles, NamedFilesError } from '../../loaders/named-files';
import { ownersCommand, type PrintedTasks } from '../../loaders/owner-environment';
import { problemLines } from '../../loaders/schema-problems';
import { type NamedTask, namedTaskSchema } from '../../loaders/task-lines';
import { type OwnersCommand, SandboxError } from '../../sandbox';
import { type ArtifactStore, changeDocument, getLines, layout, putLines } from '../../store';
import { ownerFailure } from '../environment';
import { printTasks, type TaskCommand } from '../rollout/task-command';

/** A spec with the ranges of its tasks; and these, where a command printed them. */
export interface SpecWithTasks {
  spec: AgentSpec;
  printed: (PrintedTasks & { ref: ArtifactRef }) | null;
}

/**
 * Gives a spec the tasks that its command prints. The command runs once in a run: a retry finds its tasks in the store,
 * unless agent.yaml or a file that the command names was changed. Other specs are returned unchanged.
 * @param place as `placeOfEnvironment` gives it.
 * @throws Environment.Failed if the command fails, or prints something else than tasks; Environment.Killed;
 *   Spec.Invalid if its tasks are too few; the signal's reason.
 */
export async function withPrintedTasks(
  store: ArtifactStore,
  { runId, specPath }: { runId: string; specPath: string },
  spec: AgentSpec,
  place: string,
  signal: AbortSignal,
): Promise<SpecWithTasks> {
  const origin = originOfTasks(spec.environment);
  const owner = ownersCommand(spec, place);
  if (origin === null || !('command' in origin) || owner === null) return { spec, printed: null };
  const key = layout.printedTasks(runId, hashOf(origin, owner, specPath));
  const kept = refOf((await store.readDocument(key))?.value) ?? null;
  const ref = kept ?? (await freeze(store, key, runId, await run(owner, origin, specPath, signal)));
  const tasks = await getLines(store, ref, namedTaskSchema);
  try {
    const printed = { ref, sha256: ref.sha256, ids: tasks.map(({ id }) => id) };
    return { spec: withNamedTasks(spec, tasks, specPath), printed };
  } catch (error) {
    if (!(error instanceof AgentSpecError)) throw error;
    throw failure('Spec.Invalid', error.message, { cause: error });
  }
}

const refOf = (value: unknown): ArtifactRef | undefined => artifactRefSchema.safeParse(value).data;

/** Hash of what the command is: its words, what it gets, and the files that it names. */
function hashOf({ command, splits }: TaskCommand, { launch }: OwnersCommand, specPath: string): string {
  const { agentFolder, folders, secrets, variables } = launch;
  try {
    const files = hashesOfNamedFiles(command, agentFolder);
    return createHash('sha256')
      .update(canonicalJson({ command, splits, folders, secrets, variables, files }))
      .digest('hex');
  } catch (error) {
    if (!(error instanceof NamedFilesError)) throw error;
    throw failure('Spec.Invalid', `${specPath}: environment.tasks.command: ${error.message}`, { cause: error });
  }
}

async function run(
  owner: OwnersCommand,
  origin: TaskCommand,
  specPath: string,
  signal: AbortSignal,
): Promise<NamedTask[]> {
  try {
    const read = await printTasks(owner, origin, signal);
    if ('tasks' in read) return read.tasks;
    const lines = problemLines(specPath, read.problems);
    const remedy = `Run it in ${dirname(specPath)} to see what it prints, and correct it; then \`whet retry RUN\`.`;
    throw failure('Environment.Failed', `${lines}\n${remedy}`, { nonRetryable: true });
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    throw ownerFailure(error, { nonRetryable: !error.retryable });
  }
}

/** Keeps the tasks for retries. Returns those of another attempt if that was faster. */
async function freeze(store: ArtifactStore, key: string, runId: string, tasks: NamedTask[]): Promise<ArtifactRef> {
  const ref = await putLines(store, layout.run(runId), 'tasks.jsonl', tasks);
  return changeDocument(store, key, (value) => {
    const faster = refOf(value);
    return faster === undefined ? { value: ref, result: ref } : { result: faster };
  });
}
