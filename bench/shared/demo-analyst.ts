/** The demo agent's rule-based analyst in this process, for variants of the agent whose agent.yaml lies elsewhere. */
import { join } from 'node:path';
import { DEMO_ANALYST_MODEL, openDeskRules } from '../../examples/orders-desk/analyst/answers';
import { Journal } from '../../examples/shared/analyst/journal';
import { createAnalystServer } from '../../examples/shared/analyst/server';
import { DESK } from './demo-model';

/** An analyst that listens at a free port of this machine. */
export interface DemoAnalyst {
  baseUrl: string;
  model: string;
  /** Variables that make `whet` ask it. */
  variables: NodeJS.ProcessEnv;
  close: () => Promise<unknown>;
}

/** Starts it; its journal, by which repeated questions get the same answers, lies in a folder. */
export async function startDemoAnalyst(folder: string): Promise<DemoAnalyst> {
  const rules = openDeskRules(join(DESK, 'analyst'));
  const server = createAnalystServer({ rules, journal: new Journal(join(folder, 'analyst.jsonl')) });
  const baseUrl = `${await server.listen({ port: 0, host: '127.0.0.1' })}/v1`;
  const model = DEMO_ANALYST_MODEL;
  const variables = { OPENAI_BASE_URL: baseUrl, WHET_ANALYST_MODEL: model };
  return { baseUrl, model, variables, close: () => server.close() };
}
