import type { ArtifactRef } from '../../contracts/artifacts/artifact-ref';
import { calibrationResultSchema } from '../../contracts/artifacts/environment-attempt';
import { type EnvironmentCheck, type Validation, validationSchema } from '../../contracts/artifacts/environment-check';
import type { ValidationInput } from '../../contracts/messages/sharpen-stage';
import { type ModuleSource, SandboxError } from '../../sandbox';
import { type ArtifactStore, getJson } from '../../store';
import { type OpenEnvironment, readSynthesisedEnvironment } from '../environment';
import { type EnvironmentTask, readTasks, validationSeeds } from '../environment-checks/environment-task';
import { againIfKilled, isOutsideFault } from '../killed-environment';
import { checkKeptCapability, showsCapability } from './kept-capability';

/** Number of compared tasks of each attempt. */
const TASKS = 60;

/** What the comparison reads. */
interface ComparedAttempts {
  store: ArtifactStore;
  openEnvironment: OpenEnvironment;
  environment: ModuleSource;
  before: ValidationInput['before'];
  /** Whether the agent's own environment has reference solutions, with which attempts are compared. */
  hasReferences: boolean;
  signal: AbortSignal;
}

/**
 * Checks that an attempt has the same demands as the first good attempt before it. An attempt is good if its reference
 * solution earns full reward, its reward depends on the capability, and its solutions and rewards resemble those of the
 * agent's own tasks. If these have no solutions, an attempt that base found too easy is not good either: it may ask for
 * something that base does not lack. Null if there is no good attempt, or if one of the two cannot be read.
 * @throws EnvironmentKilled; the signal's reason.
 */
export async function compareAttempts(compared: ComparedAttempts): Promise<EnvironmentCheck | null> {
  const { store, environment, before = [], hasReferences } = compared;
  for (const [index, { source, validation, calibration = null }] of before.entries()) {
    if (!showsCapability(await getJson(store, validation, validationSchema))) continue;
    if (!hasReferences && calibration !== null && (await wasTooEasy(store, calibration))) continue;
    const earlier = await readSynthesisedEnvironment(store, source, environment.name);
    const tasks = await tasksOf(compared, environment);
    const tasksBefore = await tasksOf(compared, earlier);
    if (tasks === null || tasksBefore === null) return null;
    return checkKeptCapability(tasks, { attempt: index + 1, tasks: tasksBefore });
  }
  return null;
}

const wasTooEasy = async (store: ArtifactStore, calibration: ArtifactRef): Promise<boolean> =>
  (await getJson(store, calibration, calibrationResultSchema)).verdict === 'too-easy';

/** The first tasks of an environment; null if it fails, or if a task does not declare its skill calls. */
async function tasksOf(
  { openEnvironment, signal }: ComparedAttempts,
  source: ModuleSource,
): Promise<EnvironmentTask[] | null> {
  try {
    return await againIfKilled(async () => {
      const opened = await openEnvironment(source);
      try {
        const tasks = await readTasks(opened, validationSeeds(TASKS, source.source), signal);
        return tasks.every(({ skillCalls }) => skillCalls !== null) ? tasks : null;
      } finally {
        await opened.close();
      }
    }, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isOutsideFault(error) || !(error instanceof SandboxError)) throw error;
    return null;
  }
}

/** The validation with one additional check. */
export function withCheck(validation: Validation, check: EnvironmentCheck | null): Validation {
  if (check === null) return validation;
  const problems = check.passed ? [] : [`${check.name}: ${check.detail}`];
  return {
    passed: validation.passed && check.passed,
    problems: [...problems, ...validation.problems],
    checks: [...validation.checks, check],
  };
}
