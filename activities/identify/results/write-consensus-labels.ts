import { setImmediate } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { ArtifactRef } from '../../../contracts/artifacts/artifact-ref';
import { type Candidate, type ConsensusLabel, labelRecordSchema } from '../../../contracts/artifacts/identification';
import { layout, lineFiles } from '../../../store';
import { startProgress } from '../../progress';
import type { IdentifyArtifacts } from '../identify-artifacts';
import type { TalliedRun } from '../labelling/tally';
import type { TrajectoryOutcomes } from '../verdicts/task-sums';
import { consensusVote } from './consensus-vote';
import type { LackingFailure } from './evidence-quotes';

/** Lines that are turned into bytes at a time. */
const BLOCK_LINES = 1_000;

/** What the labelling runs say together. */
export interface Consensus {
  /** JSONL of ConsensusLabel, trajectory by trajectory. */
  labels: ArtifactRef;
  /** Indices of the trajectories that lack a capability, by its id. */
  lacking: Map<string, Set<number>>;
  /** Those of them that failed, with their label, by capability id. */
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
  const open = lineFiles(artifacts.store, labelRecordSchema, Math.max(1, runs.length));
  const files = await Promise.all(runs.map(({ labels }) => open(labels)));
  // A candidate whose verdict was final early has labels in the first runs only. `places` has its column in each.
  const places = candidates.map(({ id }) =>
    runs.map(({ capabilities }) => capabilities.indexOf(id)).filter((place) => place >= 0),
  );
  const lacking = new Map(candidates.map(({ id }) => [id, new Set<number>()]));
  const failures = new Map(candidates.map(({ id }) => [id, [] as LackingFailure[]]));
  const bytes: Buffer[] = [];
  let lines: string[] = [];
  const flush = () => {
    bytes.push(Buffer.from(lines.join('')));
    lines = [];
  };
  const progress = startProgress({
    stage: 'identify',
    unit: 'contrasted trajectories',
    total: ids.length,
    heartbeat: Context.current().heartbeat,
  });
  try {
    for (const [t, trajectoryId] of ids.entries()) {
      for (const [c, { id: capabilityId }] of candidates.entries()) {
        const lineOf = (run: number) => t * (runs[run]?.capabilities.length ?? 0) + (places[c]?.[run] ?? 0);
        const { label, votes, run } = consensusVote((places[c] ?? []).map((_, r) => runs[r]?.codes[lineOf(r)] ?? 0));
        // Where no run has a label, the record of the first run says why.
        const record = files[run ?? 0]?.at(lineOf(run ?? 0));
        const consensus: ConsensusLabel = {
          trajectoryId,
          capabilityId,
          label,
          step: record?.step ?? null,
          reason: record?.reason ?? 'No run has a label.',
          votes,
        };
        lines.push(`${JSON.stringify(consensus)}\n`);
        if (label === 'LACKING') {
          lacking.get(capabilityId)?.add(t);
          if (outcomes.success[t] === 0) failures.get(capabilityId)?.push({ label: consensus, trajectory: t });
        }
      }
      progress.advance();
      if (lines.length >= BLOCK_LINES) {
        flush();
        // Lets heartbeats and other activities of the process run.
        await setImmediate();
      }
    }
  } finally {
    progress.stop();
  }
  flush();
  const labels = await artifacts.store.put(layout.labels(runId), 'labels.jsonl', Buffer.concat(bytes), {
    mediaType: 'application/jsonl',
    records: ids.length * candidates.length,
  });
  return { labels, lacking, failures };
}
