import { type EnvironmentCheck, type Validation, validationSchema } from '../../contracts/artifacts/environment-check';
import type { ValidationInput } from '../../contracts/messages/sharpen-stage';
import { SandboxError } from '../../sandbox';
import { type ArtifactStore, getJson } from '../../store';
import { type EnvironmentSource, type OpenEnvironment, readSynthesisedEnvironment } from '../environment';
import { type EnvironmentTask, readTasks, validationSeeds } from '../environment-checks/environment-task';
import { againIfKilled, isOutsideFault } from '../killed-environment';
import { checkKeptCapability, showsCapability } from './kept-capability';

/** Tasks of each attempt that are compared. */
const TASKS = 60;

/** What the comparison reads. */
interface ComparedAttempts {
  store: ArtifactStore;
  openEnvironment: OpenEnvironment;
  environment: EnvironmentSource;
  before: ValidationInput['before'];
  signal: AbortSignal;
}

/**
 * Checks that an attempt still asks for the same as the first good attempt before it. An attempt is good if its
 * reference solution earns full reward, its capability decides, and it is solved and paid as the agent's own tasks are.
 * Null where there is no such attempt, or one of the two cannot be read.
 * @throws EnvironmentKilled; the signal's reason.
 */
export async function compareAttempts(compared: ComparedAttempts): Promise<EnvironmentCheck | null> {
  const { store, environment, before = [] } = compared;
  for (const [index, { source, validation }] of before.entries()) {
    if (!showsCapability(await getJson(store, validation, validationSchema))) continue;
    const earlier = await readSynthesisedEnvironment(store, source, environment.name);
    const tasks = await tasksOf(compared, environment);
    const tasksBefore = await tasksOf(compared, earlier);
    if (tasks === null || tasksBefore === null) return null;
    return checkKeptCapability(tasks, { attempt: index + 1, tasks: tasksBefore });
  }
  return null;
}

/** The first tasks of an environment; null when it fails, or when a task does not say what shows the capability. */
async function tasksOf(
  { openEnvironment, signal }: ComparedAttempts,
  source: EnvironmentSource,
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

/** The validation with one more check. */
export function withCheck(validation: Validation, check: EnvironmentCheck | null): Validation {
  if (check === null) return validation;
  const problems = check.passed ? [] : [`${check.name}: ${check.detail}`];
  return {
    passed: validation.passed && check.passed,
    problems: [...problems, ...validation.problems],
    checks: [...validation.checks, check],
  };
}
