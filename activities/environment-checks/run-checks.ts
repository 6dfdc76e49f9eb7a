import type { CheckGroup, EnvironmentCheck, Validation } from '../../contracts/artifacts/environment-check';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { failure } from '../../contracts/typed-failure';
import { SandboxError, SandboxUnavailable } from '../../sandbox';
import { ALLOWED_MODULES } from '../allowed-modules';
import type { EnvironmentSource, OpenEnvironment } from '../environment';
import { againIfKilled, isOutsideFault } from '../killed-environment';
import { RestartingEnvironment } from '../rollout/restarting-environment';
import type { CheckInput, CheckResult } from './check';
import { checkAnswers } from './checks/answers';
import { checkDeterminism } from './checks/deterministic';
import { checkDiversity } from './checks/diverse';
import { checkHeldOutText } from './checks/held-out-text';
import { checkIsolation } from './checks/isolated';
import { checkMalformedCalls } from './checks/malformed-calls';
import { checkObservationFormat } from './checks/observation-format';
import { checkSolvable } from './checks/solvable';
import { checkTextGain } from './checks/text-gain';
import { checkTrivialPolicy, type TrivialPolicy } from './checks/trivial-policies';
import { type EnvironmentTask, readTasks, validationSeeds } from './environment-task';
import { inspectSource } from './inspect-source';
import { interfaceDifferences } from './interface-differences';
import type { TargetProfile } from './target-profile';

/** What to check, and against what. */
interface RunChecksOptions {
  openEnvironment: OpenEnvironment;
  environment: EnvironmentSource;
  /** The agent's own environment, with which this one is compared. */
  target: TargetProfile;
  settings: AgentSpec['certificate'];
  signal?: AbortSignal;
  /** Called after each check. */
  onCheck?: (check: EnvironmentCheck, done: number, total: number) => void;
}

const MAX_PROBLEMS = 10;
const MAX_PROBLEM_CHARS = 400;

/**
 * Names of the checks in the order in which they run. Those of the group `form` come first. When one of them fails, no
 * other check runs: the others would only repeat the fault.
 */
export const CHECK_NAMES = [
  ...['parses', 'imports', 'loads', 'interface', 'tasks', 'observation-format'],
  ...['solvable', 'nop', 'random-calls', 'echo-the-prompt', 'repeat-one-tool', 'always-refuse'],
  ...['claim-success', 'tool-spam', 'injected-text', 'text-gain', 'malformed-calls'],
  ...['deterministic', 'diverse', 'isolated', 'held-out-text', 'answers'],
] as const;

/**
 * Runs every check of a synthesised environment that needs no model. The environment runs in the jail. Where it raises,
 * hangs or dies, the check fails and the caller goes on. A check whose process something outside kills is run three
 * times.
 * @throws Sandbox.Unavailable; EnvironmentKilled; the signal's reason.
 */
export async function runChecks(options: RunChecksOptions): Promise<Validation> {
  const { openEnvironment, environment } = options;
  const first = new RestartingEnvironment(openEnvironment, environment);
  const second = new RestartingEnvironment(openEnvironment, environment);
  try {
    const run = new CheckRun(options, first, second);
    if (await run.checkForm()) await run.checkContent();
    return validationOf(run.done);
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
}

/** Sums the checks up: passed when all passed, with the first failed ones as problems. */
function validationOf(checks: EnvironmentCheck[]): Validation {
  const failed = checks.filter(({ passed }) => !passed);
  const problems = failed.map(({ name, detail }) => `${name}: ${detail}`.slice(0, MAX_PROBLEM_CHARS));
  return { passed: failed.length === 0, problems: problems.slice(0, MAX_PROBLEMS), checks };
}

/** The checks of one environment. Two processes of it are open; only the check of determinism uses the second. */
class CheckRun {
  readonly done: EnvironmentCheck[] = [];
  private tools: EnvironmentTool[] = [];
  private tasks: EnvironmentTask[] = [];

  constructor(
    private readonly options: RunChecksOptions,
    private readonly first: RestartingEnvironment,
    private readonly second: RestartingEnvironment,
  ) {}

  /** Whether the module can be used at all. Each check needs the one before it. */
  async checkForm(): Promise<boolean> {
    const { openEnvironment, environment, target, settings } = this.options;
    let findings = { syntax: [] as string[], rules: [] as string[] };
    return (
      (await this.check('form', 'parses', async () => {
        findings = await inspectSource(openEnvironment, environment.source, environment.name);
        return verdict(findings.syntax, 'The source is Python.');
      })) &&
      (await this.check('form', 'imports', () => {
        const allowed = findings.rules.some((finding) => / imports /.test(finding))
          ? [`Allowed imports: ${ALLOWED_MODULES.join(', ')}.`]
          : [];
        return verdict(
          findings.rules.length > 0 ? [...findings.rules, ...allowed] : [],
          'Nothing forbidden was found in the source.',
        );
      })) &&
      (await this.check('form', 'loads', async () => {
        this.tools = (await (await this.first.running()).describe()).tools;
        return verdict([], `The module loads and describes ${this.tools.length} tools.`);
      })) &&
      (await this.check('form', 'interface', () =>
        verdict(interfaceDifferences(target.tools, this.tools), "The tools are the agent's."),
      )) &&
      (await this.check('form', 'tasks', async () => {
        this.tasks = await readTasks(
          await this.first.running(),
          validationSeeds(Math.max(settings.seeds, settings.diversitySeeds)),
          this.options.signal,
        );
        return verdict([], `${this.tasks.length} tasks have an opening and a reference solution.`);
      })) &&
      (await this.check('form', 'observation-format', async () =>
        checkObservationFormat(await this.first.running(), this.input(), target),
      ))
    );
  }

  /** Checks whether the environment is worth training in. All checks run, so that one attempt learns of every fault. */
  async checkContent(): Promise<void> {
    const { environment, target, settings } = this.options;
    const input = this.input();
    const trivial = (group: CheckGroup, policy: TrivialPolicy): Promise<boolean> =>
      this.check(group, policy, async () => checkTrivialPolicy(await this.first.running(), input, policy));
    await this.check('solvable', 'solvable', async () => checkSolvable(await this.first.running(), input));
    await trivial('solvable', 'nop');
    await trivial('solvable', 'random-calls');
    await trivial('solvable', 'echo-the-prompt');
    await trivial('solvable', 'repeat-one-tool');
    await trivial('solvable', 'always-refuse');
    await trivial('reward-hacks', 'claim-success');
    await trivial('reward-hacks', 'tool-spam');
    await trivial('reward-hacks', 'injected-text');
    await this.check('reward-hacks', 'text-gain', async () => checkTextGain(await this.first.running(), input));
    await this.check('reward-hacks', 'malformed-calls', async () =>
      checkMalformedCalls(await this.first.running(), input),
    );
    await this.check('deterministic', 'deterministic', async () =>
      checkDeterminism(await this.first.running(), await this.second.running(), input),
    );
    await this.check('diverse', 'diverse', () => checkDiversity(this.tasks.slice(0, settings.diversitySeeds)));
    await this.check('isolated', 'isolated', async () => checkIsolation(await this.first.running(), input));
    await this.check('no-leakage', 'held-out-text', () => checkHeldOutText(environment.source, this.tasks, target));
    await this.check('no-leakage', 'answers', async () => checkAnswers(await this.first.running(), input, target));
  }

  private input(): CheckInput {
    return { tools: this.tools, tasks: this.tasks.slice(0, this.options.settings.seeds) };
  }

  private async check(
    group: CheckGroup,
    name: (typeof CHECK_NAMES)[number],
    run: () => CheckResult | Promise<CheckResult>,
  ): Promise<boolean> {
    this.options.signal?.throwIfAborted();
    let result: CheckResult;
    try {
      result = await againIfKilled(async () => run(), this.options.signal);
    } catch (error) {
      this.options.signal?.throwIfAborted();
      if (isOutsideFault(error)) throw error;
      result = faultOf(error);
    }
    const { passed, detail, figures } = result;
    const check: EnvironmentCheck = { name, group, passed, detail, figures };
    this.done.push(check);
    this.options.onCheck?.(check, this.done.length, CHECK_NAMES.length);
    return passed;
  }
}

const verdict = (problems: readonly string[], fine: string): CheckResult => ({
  passed: problems.length === 0,
  detail: problems.length === 0 ? fine : problems.join(' '),
  figures: [],
});

/** A fault of the environment as a failed check. Throws any other error. */
function faultOf(error: unknown): CheckResult {
  if (error instanceof SandboxUnavailable) throw failure('Sandbox.Unavailable', error.message, { cause: error });
  const fault = error instanceof Error && error.cause instanceof SandboxError ? error.cause : error;
  if (!(fault instanceof SandboxError)) throw error;
  return { passed: false, detail: (error as Error).message, figures: [] };
}
