import { Context } from '@temporalio/activity';
import { certificateSchema } from '../../contracts/artifacts/certificate';
import { calibrationResultSchema } from '../../contracts/artifacts/environment-attempt';
import { type Candidate, identificationSchema } from '../../contracts/artifacts/identification';
import type { PreparedSpec } from '../../contracts/artifacts/prepared-spec';
import { reusableReadingSchema } from '../../contracts/artifacts/reuse';
import {
  type RolloutToRead,
  rolloutToReadSchema,
  type SecondReading,
  secondReadingSchema,
} from '../../contracts/artifacts/second-reading';
import { wholeWords } from '../../contracts/clean-text';
import { ATTEMPT_OUTCOME_CHARS } from '../../contracts/limits';
import type { LlmActivities } from '../../contracts/messages/activities';
import type { Repetition } from '../../contracts/messages/repair';
import type { ReadingInput, ReadingOutcome } from '../../contracts/messages/sharpen-stage';
import type { AnalystFactory } from '../../llm';
import { type ArtifactStore, getJson, layout, putJson, storedLines } from '../../store';
import { OneAttempt } from '../analyst/one-attempt';
import { RecordedCalls, sumCalls } from '../analyst/recorded-calls';
import { withCheck } from '../environment-checks/certificate';
import { SEVERAL_EPISODES_VERSION } from '../label-prompt/several-episodes';
import { readPreparedSpec } from '../prepared-spec';
import { Progress } from '../progress';
import { readingKey } from '../reuse/content-keys';
import { keepCertifiedEnvironment } from '../reuse/environment-inputs';
import { keepReusable, takeReusable } from '../reuse/reuse-records';
import type { ReadTargetProfile } from '../target-profile/read-target-profile';
import { readInSteps } from './read-in-steps';
import { readTargetEpisodes } from './target-episodes';

/** The dependencies of the second reader. */
export interface SecondReaderDeps {
  store: ArtifactStore;
  analyst: AnalystFactory;
  profileOfTarget: ReadTargetProfile;
}

/** Name of the run's work file with the reader's answers. */
const answersOf = ({ capability, attempt }: ReadingInput): string => `analyst-read-${capability.id}-${attempt}`;

/** Activity of the second reader. */
export function createSecondReaderActivities(deps: SecondReaderDeps): Pick<LlmActivities, 'readEnvironment'> {
  const attempts = new OneAttempt();
  return {
    /**
     * Lets the analyst label rollouts in an environment that is in band. It sees neither code nor rewards. The
     * environment passes unless the labels show that its rewards teach something else. The labels of an earlier run
     * about the same rollouts are reused.
     */
    async readEnvironment(input: ReadingInput, repetition?: Repetition): Promise<ReadingOutcome> {
      const { store } = deps;
      const { cancellationSignal: signal } = Context.current();
      const prepared = await readPreparedSpec(store, input.context.spec);
      const analyst = deps.analyst(prepared, input.context);
      const { secondReader } = prepared.spec.certificate;
      const candidate = await candidateOf(store, input);
      const questions = { model: analyst.model, questions: SEVERAL_EPISODES_VERSION };
      const key = readingKey(input.toRead.sha256, candidate, secondReader, questions);
      const { agent, runId } = input.context;
      const known = await takeReusable(store, agent, key, reusableReadingSchema, async (record) =>
        // If a repair repeats the run's own reading, its answers are taken from the work file.
        record.runId === runId
          ? null
          : { reading: await getJson(store, record.detail, secondReadingSchema), reusedFrom: record.runId },
      );
      if (known !== null) {
        const tokens = { promptTokens: 0, completionTokens: 0 };
        const { reading, reusedFrom } = known;
        const taken = { ...reading, environment: input.source.sha256 };
        return { ...(await stored(deps, input, prepared, taken, signal)), ...tokens, reusedFrom };
      }
      using progress = new Progress({
        stage: 'sharpen',
        unit: 'labels of the second reader',
        total: secondReader.labels,
      });
      const setNote = (note: string | undefined) => progress.setNote(note);
      const options = { analyst, attempts, signal, setNote, repetition };
      const rollouts: RolloutToRead[] = [];
      for await (const one of await storedLines(store, rolloutToReadSchema)(input.toRead)) rollouts.push(one);
      const target = await readTargetEpisodes(store, input, signal);
      const { meanSuccess } = await getJson(store, input.calibration, calibrationResultSchema);
      await using calls = await RecordedCalls.open(store, runId, answersOf(input), options);
      const { maxPromptTokens } = prepared.spec.analyst;
      const found = await readInSteps({
        reader: { calls, capability: candidate, model: analyst.model, maxPromptTokens },
        rollouts,
        target,
        paidShare: meanSuccess,
        limits: secondReader,
        onRead: (count) => progress.setDone(count),
      });
      const reading: SecondReading = {
        schemaVersion: 1,
        capability: candidate.id,
        environment: input.source.sha256,
        analyst: analyst.model,
        ...found,
      };
      const outcome = await stored(deps, input, prepared, reading, signal);
      await keepReusable(store, agent, key, { runId, detail: outcome.detail });
      const { promptTokens, completionTokens } = sumCalls(calls.records);
      return { ...outcome, promptTokens, completionTokens };
    },
  };
}

/** The capability in the words in which the target's episodes were labelled. */
async function candidateOf(store: ArtifactStore, { identification, capability }: ReadingInput): Promise<Candidate> {
  const { candidates } = await getJson(store, identification, identificationSchema);
  const candidate = candidates.find(({ id }) => id === capability.id);
  if (candidate === undefined)
    throw new RangeError(`The identification ${identification.key} has no capability ${capability.id}.`);
  return candidate;
}

/** Stores a reading and the certificate with it. An environment that passes is kept for later runs. */
async function stored(
  { store, profileOfTarget }: SecondReaderDeps,
  { context, capability, source, certificate }: ReadingInput,
  prepared: PreparedSpec,
  reading: SecondReading,
  signal: AbortSignal,
): Promise<Omit<ReadingOutcome, 'promptTokens' | 'completionTokens'>> {
  const folder = layout.environments(context.runId, capability.id);
  const { passed, detail } = reading.check;
  const whole = withCheck(await getJson(store, certificate, certificateSchema), reading.check);
  const outcome = {
    passed,
    outcome: wholeWords(`${passed ? 'read blind' : 'wrong to a second reader'}: ${detail}`, ATTEMPT_OUTCOME_CHARS),
    detail: await putJson(store, folder, 'second-reading.json', reading),
    certificate: await putJson(store, folder, 'certificate.json', whole),
    model: reading.analyst,
  };
  if (passed) {
    const { tools } = await profileOfTarget(context, prepared, signal);
    await keepCertifiedEnvironment(store, { context, capability, source }, tools);
  }
  return outcome;
}
