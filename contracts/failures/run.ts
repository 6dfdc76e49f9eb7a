/** The failures of a run. Workflow code may import it at run time, so it imports only tables like itself. */

import type { RunFailure } from './run-failure';
import { TRAINER_FAILURES } from './trainer';

/**
 * Failure types, dotted and stable, and the reaction to each. A failure without one of these types, a timeout and a
 * child workflow that was terminated make the run wait for the operator. docs/reference/errors.md lists all of them.
 */
export const FAILURES = {
  'Run.Expired': {
    retryable: false,
    curedBy: 'nobody',
    meaning:
      'The run ended without its last stages: nobody answered before a deadline of agent.yaml, a failure lasted too ' +
      'long, or the next night took its place.',
    remedy:
      'Correct what the message names, then wait for the next night or use `whet run`. Labels in the cache of the ' +
      'agent are not paid for again.',
  },
  'Notify.Refused': {
    retryable: false,
    curedBy: 'nobody',
    meaning: 'The webhook may not be used, or its server refused the notice.',
    remedy:
      'Name its server in WHET_WEBHOOK_ENDPOINTS of the worker, or correct notify.webhook. The run is not held up.',
  },
  'Notify.Unreachable': {
    retryable: true,
    curedBy: 'nobody',
    meaning: 'The server of the webhook did not answer, or answered that it cannot take the notice now.',
    remedy: 'Nothing: the notice is posted again for some hours. The run is not held up.',
  },
  'Spec.Invalid': {
    retryable: false,
    curedBy: 'nobody',
    meaning: 'agent.yaml has an unknown or wrong field.',
    remedy: 'Correct the field named in the message; `whet validate` checks without starting anything.',
  },
  'Spec.NotAllowed': {
    retryable: false,
    curedBy: 'operator',
    meaning: "agent.yaml asks for something in the cluster that the operator's policy does not allow.",
    remedy:
      'Change the field that the message names, or add its line to the file of WHET_POLICY and start the workers ' +
      'again; then `whet retry RUN`.',
  },
  'Collect.TooFewToContrast': {
    retryable: false,
    curedBy: 'nobody',
    meaning:
      'Fewer successes or fewer failures than identify.minEachOutcome were collected, so they cannot be contrasted.',
    remedy:
      'Raise environment.trainSeeds.count or collect.trials, ' +
      'or check that the agent can solve some tasks and fails others. Of conversations, ingest as many more as the ' +
      'message says, or their outcomes.',
  },
  'Model.Unreachable': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The model server is down, or cannot be reached.',
    remedy: 'Start it (`whet up`) or correct model.baseUrl.',
  },
  'Model.Slow': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The model server works, but sent nothing for an answer that was due, twice.',
    remedy:
      'Raise model.timeoutSeconds, or lower the `concurrency` fields, in agent.yaml; then ' +
      '`whet retry RUN --spec AGENT_YAML`.',
  },
  'Model.Refused': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The model server does not serve the model, is not at this address, or refuses most conversations.',
    remedy: "Correct what the message names, with the server's words; then `whet retry RUN`.",
  },
  'Model.Unauthorised': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The model server refused the API key.',
    remedy:
      'Set WHET_MODEL_API_KEY of the worker to a key that the server accepts, start the worker again, ' +
      'then `whet retry RUN`.',
  },
  'Model.Changed': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The served model, or the one in model.path, is not the model that the run began with.',
    remedy:
      'Serve the model that the message names as the first one, then `whet retry RUN`; ' +
      'or cancel the run and start a new one.',
  },
  'Model.ContextTooShort': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'Most tasks open with a prompt that is longer than the context of the model.',
    remedy:
      "Serve the model with a longer context, or shorten the environment's opening; then `whet retry RUN` " +
      'plays these tasks again.',
  },
  'Analyst.Unauthorised': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The analyst endpoint refused the API key.',
    remedy:
      'Set OPENAI_API_KEY (and OPENAI_BASE_URL) of the worker to a key that the endpoint accepts. A run that waits ' +
      'continues after `whet retry RUN`; start a study, or a run that has ended, again.',
  },
  'Analyst.BadRequest': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The analyst endpoint refused the request as invalid.',
    remedy:
      'If the endpoint does not know the model or the form of the answer, correct analyst.model, or use a model with ' +
      'structured outputs. If an analyst with recorded answers has no answer to this question, add the file that the ' +
      'message names, then `whet retry RUN CAPABILITY`. Or `whet skip RUN CAPABILITY` leaves the capability out.',
  },
  'Analyst.Declined': {
    retryable: false,
    curedBy: 'owner',
    meaning: 'The analyst declined to write an environment, because training cannot give the capability.',
    remedy:
      'If the reason holds, `whet skip RUN CAPABILITY`, and give the agent what the reason names, such as a tool. If ' +
      'not, `whet retry RUN CAPABILITY` asks again, or write the environment by hand ' +
      '(docs/guides/environment-by-hand.md).',
  },
  'Analyst.RateLimited': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The analyst endpoint received too many calls.',
    remedy:
      'Nothing: the call is repeated after the time that the endpoint asked for. ' +
      'Lower analyst.concurrency if it persists.',
  },
  'Analyst.Unavailable': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The analyst endpoint failed or did not answer.',
    remedy: 'Nothing: the call is repeated with back-off. Check the endpoint if it persists.',
  },
  'Analyst.Malformed': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The answers of the analyst did not have the required form, even after it was shown the errors.',
    remedy: 'Use a model with structured outputs, or read the kept answer named in the message.',
  },
  'Analyst.BatchFailed': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The endpoint ended a batch without its answers.',
    remedy:
      'Read the message; `whet retry RUN` sends what is missing in a new batch. ' +
      'If the endpoint has no Batch API, set analyst.mode to online.',
  },
  'Analyst.NotRecorded': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'A repair needs an answer of the analyst that is not recorded any more, and may not ask for it again.',
    remedy: 'Let it ask, which is paid again: `whet repair RUN --yes`.',
  },
  'Budget.Spent': {
    retryable: false,
    curedBy: 'operator',
    meaning:
      'The next call to the analyst, or the next episode with a simulated user or a judge, would exceed the budget ' +
      'of this run.',
    remedy:
      '`whet budget RUN --usd N` raises it (or `--tokens N`; for simulated users and judges `--environment-usd N`, ' +
      '`--environment-tokens N`), and the run continues; what was paid is kept.',
  },
  'Identify.TooManyUnlabelled': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'A larger share of the labels than identify.maxUnlabelled could not be obtained.',
    remedy: 'Read the unlabelled pairs in the labels artifact; use a stronger analyst model.',
  },
  'Identify.LabelsLost': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'Stored labels cannot be read any more. They were asked for again, and were lost again.',
    remedy: 'Look at the disk of the store; `whet retry RUN` asks for the lost labels again.',
  },
  'Study.NoTrajectories': {
    retryable: false,
    curedBy: 'nobody',
    meaning: 'There are no trajectories of the agent to study.',
    remedy: 'Let a run collect some (`whet run`), or name a run that did: `whet study stability AGENT --from RUN`.',
  },
  'Sandbox.Unavailable': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'A layer of the jail is missing, so no generated code is run.',
    remedy: 'Install bubblewrap and allow unprivileged user namespaces; the message names the layer.',
  },
  'Environment.Failed': {
    retryable: true,
    curedBy: 'owner',
    meaning: 'The target environment raised, hung or died.',
    remedy:
      'If the run still waits in its first checks, correct what the message names, then `whet retry RUN`. Later a ' +
      'run plays only the files that it began with: put back what was changed, then `whet retry RUN`; or `whet ' +
      'cancel RUN`, correct them, and start a new run, which pays for no label of an equal episode again. If the ' +
      'cause was outside these files, `whet retry RUN` continues the run; if a capability waits, use `whet retry RUN ' +
      'CAPABILITY`.',
  },
  'Environment.TasksFail': {
    retryable: false,
    curedBy: 'owner',
    meaning: "More than half of a stage's episodes failed because of a simulator, a judge, a program or a limit.",
    remedy:
      'A run plays only the files that it began with. If one of them is at fault, `whet cancel RUN`, correct it, and ' +
      'start a new run. If something else failed (a server, a key, a limit of requests), put it right; then `whet ' +
      'retry RUN` plays these episodes again.',
  },
  'Environment.Killed': {
    retryable: true,
    curedBy: 'operator',
    meaning: "Something outside the jail kept killing the environment's process; nothing was counted against it.",
    remedy:
      'Look for what kills processes on the worker, usually a lack of memory; then `whet retry RUN CAPABILITY`. ' +
      'An environment that kills itself looks the same: `whet skip RUN CAPABILITY` leaves it out.',
  },
  ...TRAINER_FAILURES,
  'Evaluate.Unpaired': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The arms of the evaluation did not run the same tasks and trials, so they cannot be compared.',
    remedy: 'The message names the arm or the task. Report the defect; `whet retry RUN` compares again.',
  },
  'Evaluate.IncumbentDamaged': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The active version cannot be played against the candidate, because its files are damaged or gone.',
    remedy:
      '`whet repair` of the run that made it (the message names it) makes them whole. ' +
      '`whet skip RUN incumbent` compares with the base model alone.',
  },
  'Promote.CanaryRuns': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The gate is passed, but a canary runs, and promoting another version would end it without a verdict.',
    remedy:
      'Wait until it has ended, or end it with `whet canary AGENT --stop` or `whet promote AGENT VERSION`; then ' +
      '`whet retry RUN`. If another version has become active, the candidate is compared with that one first. ' +
      '`whet skip RUN promote` ends the run without a promotion.',
  },
  'Promote.AdapterMissing': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'The judged router gives conversations to an adapter that would not be in the version.',
    remedy:
      'Report the defect; the message names the adapter. `whet skip RUN promote` ends the run without a promotion, ' +
      'and a new run judges and promotes again.',
  },
  'Promote.Conflict': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The registry document changed while this run was promoting.',
    remedy: 'Nothing: the change is made again on the new document.',
  },
  'Store.Corrupt': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'Something in the store is damaged: an artifact does not match its hash, or a document is incomplete.',
    remedy:
      'The message names the file. `whet repair RUN` makes the artifacts of a run again, or says what to do. For a ' +
      'document, the message has the command that restores the previous version. Then `whet retry RUN`.',
  },
  'Store.Missing': {
    retryable: false,
    curedBy: 'operator',
    meaning: 'An artifact of the run is no longer in the store.',
    remedy: '`whet repair RUN` makes it again, or restore it from a backup; then `whet retry RUN`.',
  },
  'Store.Full': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The disk of the store is full, or its quota is used up.',
    remedy: 'Free space: the run continues by itself. If it waits for an answer by then, `whet retry RUN`.',
  },
  'Store.Unavailable': {
    retryable: true,
    curedBy: 'operator',
    meaning: 'The disk of the store does not work: it cannot be read or is mounted read-only.',
    remedy: 'Mend or mount it again: the run continues by itself. If it waits for an answer by then, `whet retry RUN`.',
  },
} as const satisfies Record<string, RunFailure>;
/** A type of `FAILURES`. */
export type FailureType = keyof typeof FAILURES;
