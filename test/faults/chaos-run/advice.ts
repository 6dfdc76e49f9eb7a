/** Words of the `whet` command that a reason names: a repair before another try, and that if it names none. */
export function adviceIn(text: string, runId: string): string[] {
  const named = /whet (repair|retry)((?: +[\w@:./-]+)*)/g;
  const found = [...text.matchAll(named)].map(([, command = '', rest = '']) => [command, ...rest.trim().split(/ +/)]);
  const chosen = found.find(([command]) => command === 'repair') ?? found[0] ?? ['retry', runId];
  return chosen.map((word) => (word === 'RUN' ? runId : word.replace(/[.,;]$/, ''))).filter((word) => word !== '');
}
