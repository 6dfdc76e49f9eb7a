import { join } from 'node:path';
import { stabilityStudySchema } from '../../contracts/artifacts/study';
import { TASK_QUEUES, WORKFLOWS } from '../../contracts/names';
import type { StudyInput, StudyResult } from '../../contracts/messages/identify-stage';
import { agentNamed } from '../agent';
import type { Context } from '../context';
import { readDamageable } from '../documents';
import { CliError } from '../errors';
import { table } from '../output';
import { newRunId } from '../run-id';
import { readWholeFile } from '../../store';
import { withTemporal } from '../temporal';
import { failureOfWorkflow } from '../view/run-state';

/** Largest number of identifications in one study: each costs as much as a run's. */
const MAX_RUNS = 50;

/**
 * `whet study stability AGENT [--runs N] [--from RUN]`: identifies several times, independently, from existing
 * trajectories, and compares the results. AGENT is a name or an agent.yaml.
 */
export async function studyStabilityCommand(
  { settings, out }: Context,
  agent: string,
  { runs, from }: { runs: number; from?: string },
): Promise<void> {
  if (runs < 2 || runs > MAX_RUNS)
    throw new CliError(`--runs ${runs} is not allowed. Allowed: 2 to ${MAX_RUNS}.`, { exitCode: 2 });
  const name = agentNamed(agent, { exitCode: 2 });
  const studyId = newRunId(name).replace(/^run-/, 'study-');
  const input: StudyInput = { studyId, agent: name, identifications: runs, sourceRun: from ?? null };
  await withTemporal(settings, async ({ client }) => {
    const handle = await client.workflow.start(WORKFLOWS.studyStability, {
      taskQueue: TASK_QUEUES.orchestration,
      workflowId: studyId,
      args: [input],
      memo: { agent: name },
      staticSummary: `stability of identification for ${name}, ${runs} times`,
    });
    out.line(`started ${studyId}`);
    const result = (await handle.result().catch((error: Error) => {
      const { type, message } = failureOfWorkflow(error);
      throw new CliError(`${studyId} failed: ${message}`, { type: 'Study.Failed', reportedType: type, cause: error });
    })) as StudyResult;
    const path = join(result.directory, 'study.json');
    const study = await readDamageable(path, 'study.html beside it shows the same result.', async () =>
      stabilityStudySchema.parse(JSON.parse((await readWholeFile(path)).toString('utf8'))),
    );
    const rows = study.capabilities.map((c) => [
      c.name,
      `${c.named}`,
      `${c.kept}`,
      c.gap?.mean.toFixed(2) ?? '-',
      c.gap?.standardDeviation?.toFixed(3) ?? '-',
      c.coverage.mean.toFixed(2),
    ]);
    const text = table([['capability', 'named', 'kept', 'gap', 'sd', 'coverage'], ...rows]);
    out.result(
      study,
      `${text}\n${result.summary}\nfigure: ${result.directory}/stability.svg\nreport: ${result.directory}/study.html`,
    );
  });
}
