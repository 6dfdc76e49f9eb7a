/** One task, played by an agent that is a program. `whet validate` plays it before a run pays for hundreds. */

/** How the episode ended. */
export interface ProgramTrial {
  seed: number;
  taskId: string;
  /** What the model answered each time. */
  says: string;
  /** In [0, 1]; null: the episode has no result. */
  reward: number | null;
  /** Whether the program had all of the agent's turns. */
  isOutOfTurns: boolean;
  /** Why there is no result: a word such as `exit`, and sentences with the program's own words. Null: there is one. */
  failure: { cause: string; message: string } | null;
  /** Fields of requests that asked for an answer of another form than a sentence, such as `tool_choice`. */
  asked: string[];
}

/** What a command has to say, as a sentence. */
const resultOf = (cause: string): string =>
  'A result is {"reward": 0..1}, such as {"reward": 1}, as the last line of standard output' +
  (cause === 'judge' ? '.' : ', or in the file that RESULT_FILE names.');

const played = ({ taskId, says }: ProgramTrial): string =>
  `played task ${taskId} with a model that only says ${JSON.stringify(says)}`;

/** What the task ended with; null: with no result. */
export function outcomeOfProgram(trial: ProgramTrial): string | null {
  if (trial.reward === null) return null;
  return `${played(trial)}: reward ${trial.reward}${trial.isOutOfTurns ? ', after environment.maxTurns answers' : ''}`;
}

/** Why the program has no result, in one or more lines; null: it has one. */
export function problemOfProgram(trial: ProgramTrial): string | null {
  if (trial.failure === null) return null;
  const { cause, message } = trial.failure;
  const field = cause === 'judge' ? 'environment.score' : 'environment.command';
  return `${field}: ${played(trial)}: no result (${cause}). ${message}\n${resultOf(cause)}`;
}

/** Whether the model's sentence may be at fault: the program had asked for an answer of another form. */
export const isModelsFault = ({ failure, asked }: ProgramTrial): boolean =>
  failure !== null && ['exit', 'no-result', 'judge'].includes(failure.cause) && asked.length > 0;
