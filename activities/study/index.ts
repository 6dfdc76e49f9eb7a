import { z } from 'zod';
import { type ArtifactRef, artifactRefSchema } from '../../contracts/artifacts/artifact-ref';
import { consensusLabelSchema, identificationSchema } from '../../contracts/artifacts/identification';
import { type StabilityStudy, stabilityStudySchema } from '../../contracts/artifacts/study';
import type { Repetition } from '../../contracts/messages/repair';
import type { StudyPlan, StudyRecord, StudyResult } from '../../contracts/messages/identify-stage';
import { type ArtifactStore, getJson, layout, storedLines, putJson, replaceFile } from '../../store';
import { standaloneSvg } from '../charts/standalone-svg';
import { scheduledAt } from '../live-traffic';
import { readPreparedSpec } from '../prepared-spec';
import { matchCapabilities, pairwiseAgreement, type StudiedIdentification } from './match-capabilities';
import { renderStudyPage, stabilityFigure } from './study-page';

/** The identifications that a study has recorded so far, in order. */
const recordedSchema = z.array(
  z.strictObject({ seed: z.int(), identification: artifactRefSchema, labels: artifactRefSchema }),
);
type Recorded = z.infer<typeof recordedSchema>;

/** Activity: adds one identification to the study's record. Returns the new record. */
export async function recordIdentification(
  store: ArtifactStore,
  { plan, seed, identified, previous }: StudyRecord,
): Promise<ArtifactRef> {
  const before: Recorded = previous === null ? [] : await getJson(store, previous, recordedSchema);
  const { identification, labels } = identified;
  const all = [...before, { seed, identification, labels }];
  return putJson(store, layout.study(plan.context.runId), 'identifications.json', all);
}

/** Activity: matches the identifications and writes the study's page. */
export async function renderStudy(
  store: ArtifactStore,
  { plan, recorded }: { plan: StudyPlan; recorded: ArtifactRef },
  repetition?: Repetition,
): Promise<StudyResult> {
  const createdAt = new Date(scheduledAt(repetition));
  const study = await assembleStudy(store, plan, await getJson(store, recorded, recordedSchema), createdAt);
  const directory = layout.study(plan.context.runId);
  const json = await putJson(store, directory, 'study.json', study);
  const page = renderStudyPage(study);
  const html = await store.put(directory, 'study.html', page, { mediaType: 'text/html; charset=utf-8' });
  await replaceFile(store.localPath(`${directory}/study.json`), await store.get(json));
  await replaceFile(store.localPath(`${directory}/study.html`), page);
  await replaceFile(store.localPath(`${directory}/stability.svg`), standaloneSvg(stabilityFigure(study, 'wide')));
  return { directory: store.localPath(directory), json, html, summary: summaryLine(study) };
}

async function assembleStudy(
  store: ArtifactStore,
  plan: StudyPlan,
  recorded: Recorded,
  createdAt: Date,
): Promise<StabilityStudy> {
  const { context, sourceRun, collected } = plan;
  const { analyst } = await readPreparedSpec(store, context.spec);
  const studied: StudiedIdentification[] = [];
  for (const { identification, labels } of recorded) {
    const { candidates, contrasts } = await getJson(store, identification, identificationSchema);
    studied.push({
      names: new Map(candidates.map(({ id, name }) => [id, name])),
      contrasts,
      lacking: await lackingOf(store, labels),
    });
  }
  const capabilities = matchCapabilities(studied);
  const keptBy = (i: number) =>
    capabilities
      .filter(({ points }) => points.some((p) => p.identification === i && p.verdict === 'kept'))
      .map(({ id }) => id);
  const kept = recorded.map((_, i) => keptBy(i));
  return stabilityStudySchema.parse({
    schemaVersion: 1,
    studyId: context.runId,
    agent: context.agent,
    sourceRun,
    createdAt: createdAt.toISOString(),
    analyst: analyst.displayName,
    trajectories: collected.episodes,
    identifications: recorded.map(({ seed, identification }, i) => ({ seed, kept: kept[i] ?? [], identification })),
    capabilities,
    keptAgreement: pairwiseAgreement(kept.map((ids) => new Set(ids))),
    keptByAll: capabilities.filter((capability) => capability.kept === recorded.length).map(({ id }) => id),
  });
}

async function lackingOf(store: ArtifactStore, labels: ArtifactRef): Promise<Map<string, Set<number>>> {
  const lacking = new Map<string, Set<number>>();
  const indexOf = new Map<string, number>();
  for await (const { trajectoryId, capabilityId, label } of await storedLines(store, consensusLabelSchema)(labels)) {
    if (!indexOf.has(trajectoryId)) indexOf.set(trajectoryId, indexOf.size);
    if (label === 'LACKING')
      lacking.set(capabilityId, (lacking.get(capabilityId) ?? new Set()).add(indexOf.get(trajectoryId) as number));
  }
  return lacking;
}

function summaryLine({ identifications, keptByAll, keptAgreement, capabilities }: StabilityStudy): string {
  const deviation = Math.max(
    0,
    ...capabilities.filter(({ kept }) => kept > 0).map(({ gap }) => gap?.largestDeviation ?? 0),
  );
  const agreement = keptAgreement === null ? 'not known' : keptAgreement.toFixed(2);
  return (
    `${identifications.length} identifications: ${keptByAll.length} capabilities kept by all of them, ` +
    `agreement of the kept ones ${agreement}, gaps within ±${deviation.toFixed(2)} of their means`
  );
}
