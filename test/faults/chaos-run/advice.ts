/** Words of the `whet` command that a reason names: a repair before another try, and that if it names none. */
export function adviceIn(text: string, runId: string): string[] {
  const run = `(?:RUN|${runId})`;
  const repair = new RegExp(`whet repair ${run}( --yes)?`).exec(text);
  if (repair !== null) return ['repair', runId, ...(repair[1] === undefined ? [] : ['--yes'])];
  // What follows the run is a capability only where the sentence ends after it.
  const capability = new RegExp(`whet retry ${run} ([\\w-]+)(?=[,.;\\n]|$)`).exec(text)?.[1];
  return ['retry', runId, ...(capability === undefined ? [] : [capability])];
}
