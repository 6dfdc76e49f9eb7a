// tier: unit
import { requestError } from '../../sandbox/request-error';

const raised = {
  type: 'EnvironmentRaised' as const,
  message: "SyntaxError: '(' was never closed (environment.py, line 7)",
  traceback: 'environment.py:7 in step: raise ValueError("environment.py is text")',
};

test.each(['/agents/desk/lockers.py', 'lockers.py'])('an environment named %s has its places in that file', (name) => {
  const error = requestError({ name }, raised);
  expect(error.message).toBe(
    `Environment ${name}: SyntaxError: '(' was never closed (lockers.py, line 7)\n` +
      'lockers.py:7 in step: raise ValueError("environment.py is text")',
  );
});

test('an environment named by its capability keeps the name that the analyst knows', () => {
  expect(requestError({ name: 'refunds' }, raised).message).toBe(
    `Environment refunds: ${raised.message}\n${raised.traceback}`,
  );
});
