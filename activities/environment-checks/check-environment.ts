import type { CheckGroup, EnvironmentCheck, Validation } from '../../contracts/artifacts/environment-check';
import type { AgentSpec } from '../../contracts/config/agent-spec';
import type { EnvironmentTool } from '../../contracts/messages/environment-protocol';
import { failure } from '../../contracts/typed-failure';
import { SandboxError, SandboxUnavailable } from '../../sandbox';
import type { EnvironmentSource, OpenEnvironment } from '../environment';
import { RestartingEnvironment } from '../rollout/restarting-environment';
import { checkDeterminism } from './checks/deterministic';
import { checkDiversity } from './checks/diverse';
import { checkIsolation } from './checks/isolated';
import { checkMalformedCalls } from './checks/malformed-calls';
import { checkAnswers, checkHeldOut } from './checks/no-leakage';
import { checkObservationFormat } from './checks/observation-format';
import { checkReference } from './checks/solvable';
import { checkTextGain } from './checks/text-gain';
import { checkTrivialPolicy, type TrivialPolicy } from './checks/trivial-policies';
import { type CheckResult, type Examination, examineTasks, type ExaminedTask, validationSeeds } from './examination';
import { interfaceDifferences } from './interface-differences';
import { ALLOWED_MODULES } from '../allowed-modules';
import { inspectSource } from './inspect-source';
import type { TargetProfile } from './target-profile';

/** What a certificate is made with. */
export interface CertifyOptions {
  openEnvironment: OpenEnvironment;
  environment: EnvironmentSource;
  target: TargetProfile;
  settings: AgentSpec['certificate'];
  signal?: AbortSignal;
  /** Called after each check. */
  onCheck?: (check: EnvironmentCheck, done: number, total: number) => void;
}

const MAX_PROBLEMS = 10;
const MAX_PROBLEM_CHARS = 400;

/**
 * Checks in their order. Those of the group `form` come first, and a failed one ends the examination: the others would
 * only repeat it.
 */
export const CHECK_NAMES = [
  ...['parses', 'imports', 'loads', 'interface', 'tasks', 'observation-format'],
  ...['solvable', 'nop', 'random-calls', 'echo-the-prompt', 'repeat-one-tool', 'always-refuse'],
  ...['claim-success', 'tool-spam', 'injected-text', 'text-gain', 'malformed-calls'],
  ...['deterministic', 'diverse', 'isolated', 'held-out-text', 'answers'],
] as const;

/**
 * Everything about a synthesised environment that can be found out without a model. It runs in the jail; what it does
 * there, be it raise, hang or die, fails the check and not the caller.
 * @throws Sandbox.Unavailable; the signal's reason.
 */
export async function certify(options: CertifyOptions): Promise<Validation> {
  const { openEnvironment, environment } = options;
  const restarting = new RestartingEnvironment(openEnvironment, environment);
  const other = new RestartingEnvironment(openEnvironment, environment);
  try {
    const examiner = new Examiner(options, restarting, other);
    if (await examiner.form()) await examiner.substance();
    return validationOf(examiner.done);
  } finally {
    await Promise.all([restarting.close(), other.close()]);
  }
}

/** The verdict over checks. */
export function validationOf(checks: EnvironmentCheck[]): Validation {
  const failed = checks.filter(({ passed }) => !passed);
  const problems = failed.map(({ name, detail }) => `${name}: ${detail}`.slice(0, MAX_PROBLEM_CHARS));
  return { passed: failed.length === 0, problems: problems.slice(0, MAX_PROBLEMS), checks };
}

class Examiner {
  readonly done: EnvironmentCheck[] = [];
  private tools: EnvironmentTool[] = [];
  private tasks: ExaminedTask[] = [];

  constructor(
    private readonly options: CertifyOptions,
    private readonly restarting: RestartingEnvironment,
    private readonly other: RestartingEnvironment,
  ) {}

  /** Whether the module is one that can be examined. Each step needs the one before. */
  async form(): Promise<boolean> {
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
        this.tools = (await (await this.restarting.running()).describe()).tools;
        return verdict([], `The module loads and describes ${this.tools.length} tools.`);
      })) &&
      (await this.check('form', 'interface', () =>
        verdict(interfaceDifferences(target.tools, this.tools), "The tools are the agent's."),
      )) &&
      (await this.check('form', 'tasks', async () => {
        this.tasks = await examineTasks(
          await this.restarting.running(),
          validationSeeds(Math.max(settings.seeds, settings.diversitySeeds)),
          this.options.signal,
        );
        return verdict([], `${this.tasks.length} tasks have an opening and a reference solution.`);
      })) &&
      (await this.check('form', 'observation-format', async () =>
        checkObservationFormat(await this.restarting.running(), this.examination(), target),
      ))
    );
  }

  /** Whether it is worth training in. Every check runs, so that one attempt learns of all that is wrong. */
  async substance(): Promise<void> {
    const { environment, target, settings } = this.options;
    const all = this.examination();
    const trivial = (group: CheckGroup, policy: TrivialPolicy): Promise<boolean> =>
      this.check(group, policy, async () => checkTrivialPolicy(await this.restarting.running(), all, policy));
    await this.check('solvable', 'solvable', async () => checkReference(await this.restarting.running(), all));
    await trivial('solvable', 'nop');
    await trivial('solvable', 'random-calls');
    await trivial('solvable', 'echo-the-prompt');
    await trivial('solvable', 'repeat-one-tool');
    await trivial('solvable', 'always-refuse');
    await trivial('reward-hacks', 'claim-success');
    await trivial('reward-hacks', 'tool-spam');
    await trivial('reward-hacks', 'injected-text');
    await this.check('reward-hacks', 'text-gain', async () => checkTextGain(await this.restarting.running(), all));
    await this.check('reward-hacks', 'malformed-calls', async () =>
      checkMalformedCalls(await this.restarting.running(), all),
    );
    await this.check('deterministic', 'deterministic', async () =>
      checkDeterminism(await this.restarting.running(), await this.other.running(), all),
    );
    await this.check('diverse', 'diverse', () => checkDiversity(this.tasks.slice(0, settings.diversitySeeds)));
    await this.check('isolated', 'isolated', async () => checkIsolation(await this.restarting.running(), all));
    await this.check('no-leakage', 'held-out-text', () => checkHeldOut(environment.source, this.tasks, target));
    await this.check('no-leakage', 'answers', async () => checkAnswers(await this.restarting.running(), all, target));
  }

  private examination(): Examination {
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
      result = await run();
    } catch (error) {
      this.options.signal?.throwIfAborted();
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

/** A fault of the environment as a failed check; anything else is not about the environment and is thrown. */
function faultOf(error: unknown): CheckResult {
  if (error instanceof SandboxUnavailable) throw failure('Sandbox.Unavailable', error.message, { cause: error });
  const fault = error instanceof Error && error.cause instanceof SandboxError ? error.cause : error;
  if (!(fault instanceof SandboxError)) throw error;
  return { passed: false, detail: (error as Error).message, figures: [] };
}
