import { setImmediate } from 'node:timers/promises';
import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import {
  type Candidate,
  type ConsensusLabel,
  type LabelRecord,
  labelRecordSchema,
} from '../../../contracts/artifacts/identification';
import { layout, putLines, storedLines } from '../../../store';
import { Progress } from '../../progress';
import type { IdentifyArtifacts } from '../identify-artifacts';
import type { TalliedRun } from '../labelling/tally';
import { consensusVote } from '../verdicts/consensus-vote';
import type { TrajectoryOutcomes } from '../verdicts/task-sums';
import type { LackingFailure } from './evidence-quotes';

/** Number of trajectories after which other work of the process may run. */
const TRAJECTORIES_AT_ONCE = 64;

/** The combined result of the labelling runs. */
export interface Consensus {
  /** JSONL of ConsensusLabel, trajectory by trajectory. */
  labels: ArtifactRef;
  /** Indices of the trajectories that lack a capability, by its id. */
  lacking: Map<string, Set<number>>;
  /** The failures among these trajectories, with their label, by capability id. */
  failures: Map<string, LackingFailure[]>;
}

/**
 * Writes the consensus label of each trajectory and candidate: the label that wins the vote of the runs, with step and
 * reason of the first run that gave it.
 */
export async function writeConsensusLabels(
  artifacts: IdentifyArtifacts,
  runId: string,
  runs: readonly TalliedRun[],
  candidates: readonly Candidate[],
  trajectories: { ids: readonly string[]; outcomes: TrajectoryOutcomes },
): Promise<Consensus> {
  const { ids, outcomes } = trajectories;
  const open = storedLines(artifacts.store, labelRecordSchema, Math.max(1, runs.length));
  const files = await Promise.all(runs.map(async ({ labels }) => (await open(labels))[Symbol.asyncIterator]()));
  // A candidate with an early final verdict has labels only in the first runs. `places` has its column in each run.
  const places = candidates.map(({ id }) =>
    runs.map(({ capabilities }) => capabilities.indexOf(id)).filter((place) => place >= 0),
  );
  const lacking = new Map(candidates.map(({ id }) => [id, new Set<number>()]));
  const failures = new Map(candidates.map(({ id }) => [id, [] as LackingFailure[]]));
  using progress = new Progress({ stage: 'identify', unit: 'contrasted trajectories', total: ids.length });
  async function* consensusLabels(): AsyncGenerator<ConsensusLabel> {
    for (const [t, trajectoryId] of ids.entries()) {
      const records = await Promise.all(runs.map((run, r) => take(files[r], run.capabilities.length)));
      for (const [c, { id: capabilityId }] of candidates.entries()) {
        const codeOf = (run: number) => t * (runs[run]?.capabilities.length ?? 0) + (places[c]?.[run] ?? 0);
        const { label, votes, run } = consensusVote((places[c] ?? []).map((_, r) => runs[r]?.codes[codeOf(r)] ?? 0));
        // If no run has a label, the record of the first run says why.
        const record = records[run ?? 0]?.[places[c]?.[run ?? 0] ?? 0];
        const consensus: ConsensusLabel = {
          trajectoryId,
          capabilityId,
          label,
          step: record?.step ?? null,
          reason: record?.reason ?? 'No run has a label.',
          votes,
        };
        if (label === 'LACKING') {
          lacking.get(capabilityId)?.add(t);
          if (outcomes.success[t] === 0) failures.get(capabilityId)?.push({ label: consensus, trajectory: t });
        }
        yield consensus;
      }
      progress.advance();
      // Lets heartbeats and other activities of the process run.
      if (t % TRAJECTORIES_AT_ONCE === 0) await setImmediate();
    }
  }
  try {
    const labels = await putLines(artifacts.store, layout.labels(runId), 'labels.jsonl', consensusLabels());
    return { labels, lacking, failures };
  } finally {
    await Promise.all(files.map((file) => file.return(undefined)));
  }
}

/** The next `count` records; fewer at the end. */
async function take(records: AsyncIterator<LabelRecord> | undefined, count: number): Promise<LabelRecord[]> {
  const taken: LabelRecord[] = [];
  while (taken.length < count) {
    const next = await records?.next();
    if (next === undefined || next.done) break;
    taken.push(next.value);
  }
  return taken;
}
