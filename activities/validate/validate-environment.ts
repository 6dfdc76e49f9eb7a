import { Context } from '@temporalio/activity';
import type { EnvironmentAttempt, EnvironmentInput, ValidationResult } from '../../contracts';
import { failure } from '../../llm';
import { SandboxError, SandboxUnavailable } from '../../sandbox';
import { layout, putJson } from '../../store';
import type { EnvironmentHandle, EnvironmentSource, RolloutDeps } from '../deps';
import { ownerFailure, readOwnerEnvironment, readPreparedSpec, readSynthesisedEnvironment } from '../prepared';
import { startProgress } from '../progress';
import { EnvironmentSeat } from '../rollout/environment-seat';
import * as checks from './checks';
import { interfaceDifferences } from './interface-differences';
import { ALLOWED_MODULES, inspectSource } from './static-inspection';

type Validation = EnvironmentAttempt['validation'];
type Tools = Awaited<ReturnType<EnvironmentHandle['describe']>>['tools'];

const MAX_PROBLEMS = 10;
const MAX_PROBLEM_CHARS = 400;

/**
 * `validateEnvironment`: everything about a synthesised environment that can be found out without a model. It runs in the jail; what
 * it does there, be it raise, hang or die, fails the check and not the activity.
 */
export function createValidateEnvironment(deps: RolloutDeps): (input: EnvironmentInput) => Promise<ValidationResult> {
  return async ({ context: { runId, spec }, capability, source: sourceRef }) => {
    const prepared = await readPreparedSpec(deps.store, spec);
    const target = await toolsOf(deps, await readOwnerEnvironment(prepared));
    const source = await readSynthesisedEnvironment(deps.store, sourceRef, capability.id);
    const validation = await validate(deps, source, target);
    const detail = await putJson(deps.store, layout.environments(runId, capability.id), 'validation.json', validation);
    return { passed: validation.passed, problems: validation.problems, detail };
  };
}

async function toolsOf({ openEnvironment }: RolloutDeps, environment: EnvironmentSource): Promise<Tools> {
  try {
    const opened = await openEnvironment(environment);
    try {
      return (await opened.describe()).tools;
    } finally {
      await opened.close();
    }
  } catch (error) {
    throw error instanceof SandboxError ? ownerFailure(error) : error;
  }
}

async function validate({ openEnvironment }: RolloutDeps, environment: EnvironmentSource, target: Tools): Promise<Validation> {
  const seat = new EnvironmentSeat(openEnvironment, environment);
  const other = new EnvironmentSeat(openEnvironment, environment);
  const context = Context.current();
  const names = ['static', 'loads', 'interface', 'deterministic', 'diverse', 'solvable', 'tolerant', 'nop', 'random-calls', 'repeat-one-tool', 'claim-success'];
  const progress = startProgress({
    stage: 'sharpen',
    unit: 'checks',
    total: names.length,
    note: `validate ${environment.name}`,
    everyMs: 500,
    heartbeat: (details) => context.heartbeat(details),
  });
  const done: Validation['checks'] = [];
  const check = async (name: string, run: () => Promise<checks.CheckResult>): Promise<boolean> => {
    context.cancellationSignal.throwIfAborted();
    const result = await run().catch((error: unknown) => faultOf(error));
    done.push({ name, ...result });
    progress.advance();
    return result.passed;
  };
  try {
    let tools: Tools = [];
    await check('static', async () => {
      const findings = await inspectSource(openEnvironment, environment.source, environment.name);
      if (findings.length === 0) return { passed: true, detail: 'Nothing forbidden was found in the source.' };
      const allowed = findings.some((finding) => / imports /.test(finding)) ? ` Allowed imports: ${ALLOWED_MODULES.join(', ')}.` : '';
      return { passed: false, detail: findings.join(' ') + allowed };
    });
    const loads = await check('loads', async () => {
      ({ tools } = await (await seat.take()).describe());
      return { passed: true, detail: `The module loads and describes ${tools.length} tools.` };
    });
    if (loads) {
      await check('interface', async () => {
        const differences = interfaceDifferences(target, tools);
        return differences.length === 0 ? { passed: true, detail: "The tools are the agent's." } : { passed: false, detail: differences.join(' ') };
      });
      await check('deterministic', async () => checks.checkDeterminism(await seat.take(), await other.take(), tools));
      await check('diverse', async () => checks.checkDiversity(await seat.take()));
      await check('solvable', async () => checks.checkReference(await seat.take()));
      await check('tolerant', async () => checks.checkTolerance(await seat.take(), tools));
      await check('nop', async () => checks.checkNop(await seat.take()));
      await check('random-calls', async () => checks.checkRandomCalls(await seat.take(), tools));
      await check('repeat-one-tool', async () => checks.checkRepeatedTool(await seat.take(), tools));
      await check('claim-success', async () => checks.checkClaim(await seat.take(), tools));
    }
  } finally {
    progress.stop();
    await Promise.all([seat.close(), other.close()]);
  }
  const failed = done.filter(({ passed }) => !passed);
  const problems = failed.map(({ name, detail }) => `${name}: ${detail}`.slice(0, MAX_PROBLEM_CHARS));
  return { passed: failed.length === 0, problems: problems.slice(0, MAX_PROBLEMS), checks: done };
}

/** A fault of the environment as a failed check; anything else is not about the environment and is thrown. */
function faultOf(error: unknown): checks.CheckResult {
  if (error instanceof SandboxUnavailable) throw failure('Sandbox.Unavailable', error.message, { cause: error });
  const fault = error instanceof Error && error.cause instanceof SandboxError ? error.cause : error;
  if (!(fault instanceof SandboxError)) throw error;
  return { passed: false, detail: (error as Error).message };
}
