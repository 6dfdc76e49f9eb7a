// tier: unit
import { commandWords } from '../../../cli/init/command-words';

test.each([
  ['python3 agent.py', ['python3', 'agent.py']],
  ['  node   "my agent.js" --name=\'a "b"\' ', ['node', 'my agent.js', '--name=a "b"']],
  ["bash -c 'python3 a.py | tail -1'", ['bash', '-c', 'python3 a.py | tail -1']],
  ["run ''", ['run', '']],
])('%s is read as words', (text, words) => {
  expect(commandWords(text)).toEqual({ words });
});

test.each([
  ['', 'Allowed: a program and its arguments.'],
  ['   ', 'Allowed: a program and its arguments.'],
  ["'' x", 'Allowed: a program and its arguments.'],
  ["python3 'agent.py", 'A quote has no second one.'],
  ['a.sh | tail', "No shell reads it, so | has no effect. Write it in quotes, or use bash -c '...'."],
  ['python3 $HOME/a.py', "No shell reads it, so $ has no effect. Write it in quotes, or use bash -c '...'."],
])('%j is refused', (text, fault) => {
  expect(commandWords(text)).toEqual({ fault });
});
