import { type BudgetSpec, budgetSpecSchema } from '../../contracts/config/analyst-spec';
import { layout, type ArtifactStore } from '../../store';

/** Reads a run's budget: the amounts that `whet budget` set, else those of agent.yaml. */
export async function readBudget(store: ArtifactStore, runId: string, spec: BudgetSpec): Promise<BudgetSpec> {
  const document = await store.readDocument(layout.budget(runId));
  if (document === null) return spec;
  const set = budgetSpecSchema.parse(document.value);
  const environment = { ...spec.environment, ...set.environment };
  return { ...spec, ...set, ...(Object.keys(environment).length > 0 && { environment }) };
}
