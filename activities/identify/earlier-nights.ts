import { z } from 'zod';
import { artifactRefSchema, type ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { type RolloutSummary, trajectorySchema } from '../../contracts/artifacts/trajectory';
import { failedCount } from '../../contracts/failed-episodes';
import type { RunContext } from '../../contracts/messages/run-context';
import { type ArtifactStore, changeDocument, layout, readNights } from '../../store';
import { isEqualContent } from '../reuse/equal-content';
import { unlessLost } from '../reuse/reuse-records';

/** The latest nights whose rollouts are used again. A new candidate is labelled in all of them, so they cost labels. */
const NIGHTS = 3;

const idSchema = trajectorySchema.pick({ id: true, success: true }).strip();

/** Tonight's rollouts, followed by those of earlier nights. */
export interface PooledRollouts {
  rollouts: RolloutSummary;
  /** Number of episodes of earlier nights. */
  earlier: number;
}

/**
 * Adds the rollouts of the version's earlier nights with the same inputs to tonight's, so that rare needs do not begin
 * anew each night. Labels of known candidates in them are found in the cache. Null if there are none.
 */
export async function withEarlierNights(
  store: ArtifactStore,
  { agent, runId }: Pick<RunContext, 'agent' | 'runId'>,
  tonight: RolloutSummary,
): Promise<PooledRollouts | null> {
  const lines: Buffer[] = [];
  const known = new Set<string>();
  let [earlier, successes] = [0, 0];
  const add = async (ref: ArtifactRef, isEarlier: boolean) => {
    const own = new Map<string, { line: Buffer; success: boolean }>();
    for await (const { line } of store.lines(ref)) {
      const { id, success } = idSchema.parse(JSON.parse(line.toString('utf8')));
      // The same task may have been played with the same words.
      if (known.has(id) || own.has(id)) continue;
      own.set(id, { line: line.at(-1) === NEWLINE[0] ? line : Buffer.concat([line, NEWLINE]), success });
    }
    // Only a file that could be read to its end counts.
    for (const [id, { line, success }] of own) {
      known.add(id);
      lines.push(line);
      if (isEarlier) earlier++;
      if (isEarlier && success) successes++;
    }
  };
  await add(tonight.trajectories, false);
  for (const ref of await rolloutsOfEarlierNights(store, agent, runId)) {
    await unlessLost(() => add(ref, true));
  }
  if (earlier === 0) return null;
  const trajectories = await store.put(layout.night(runId), 'pooled-nights.jsonl', Buffer.concat(lines), {
    mediaType: 'application/jsonl',
    records: lines.length,
  });
  return {
    rollouts: {
      ...tonight,
      trajectories,
      episodes: lines.length + failedCount(tonight.failed),
      successes: tonight.successes + successes,
      failures: tonight.failures + earlier - successes,
    },
    earlier,
  };
}

const NEWLINE = Buffer.from('\n');

/** The latest come first. The list is kept, so that a repeated call uses the same nights. */
async function rolloutsOfEarlierNights(store: ArtifactStore, agent: string, runId: string): Promise<ArtifactRef[]> {
  const { nights } = await readNights(store, agent);
  const place = nights.findIndex((night) => night.runId === runId);
  const own = nights[place];
  const found =
    own === undefined
      ? []
      : nights
          .slice(0, place)
          .flatMap(({ version, content, outcome, served }) =>
            version === own.version && outcome !== null && served && isEqualContent(content, own.content)
              ? [served]
              : [],
          )
          .slice(-NIGHTS)
          .reverse();
  return changeDocument(store, `${layout.run(runId)}/work/earlier-nights.json`, (frozen) =>
    frozen === undefined ? { value: found, result: found } : { result: z.array(artifactRefSchema).parse(frozen) },
  );
}
