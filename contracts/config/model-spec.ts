import { z } from 'zod';
import { count } from './numbers';
import { apiUrlSchema } from './http-url';
import { LONGEST_TIMER_MS } from './milliseconds';

/** Flags that other fields of agent.yaml decide, or `whet up`, which must find the server again. */
const OWN_FLAGS = [
  ...['--model', '--served-model-name', '--host', '--port', '--uds', '--api-key', '--root-path', '--config'],
  ...[
    '--enable-lora',
    '--no-enable-lora',
    '--max-lora-rank',
    '--max-loras',
    '--max-model-len',
    '--logprobs-mode',
    '--tool-call-parser',
  ],
  ...['--reasoning-parser', '--gpu-memory-utilization'],
];

const isOwn = (argument: string): boolean => {
  const flag = argument.split('=', 1)[0]!.replaceAll('_', '-');
  // vLLM accepts the beginning of a flag for the whole flag.
  return flag.startsWith('--') && OWN_FLAGS.some((own) => own === flag || (flag.length > 4 && own.startsWith(flag)));
};

/** How `whet up` starts a vLLM for the agent's model. */
const vllmSpecSchema = z
  .strictObject({
    maxModelLength: count
      .optional()
      .describe("Longest prompt and completion together, in tokens; absent: the model's own length."),
    toolCallParser: z
      .string()
      .regex(/^[a-z0-9_-]+$/, 'the name of a parser that vLLM lists under --tool-call-parser')
      .optional()
      .describe(
        "vLLM's parser of the model's tool calls, such as hermes, llama3_json or qwen3_coder; absent: the one for " +
          "the calls that the model's chat template writes.",
      ),
    reasoningParser: z
      .string()
      .regex(/^[a-z0-9_-]+$/, 'the name of a parser that vLLM lists under --reasoning-parser')
      .optional()
      .describe("vLLM's parser of what the model writes before its answer, such as qwen3; absent: none."),
    maxAdapters: count
      .max(64)
      .default(4)
      .describe('Adapters that one batch may mix. Further ones can be loaded; their requests wait. Takes GPU memory.'),
    gpuMemoryUtilization: z
      .number()
      .gt(0)
      .max(1)
      .default(0.9)
      .describe("Share of the GPU's memory. Leave room where trainers use the same GPU."),
    arguments: z
      .array(z.string().refine((value) => !isOwn(value), { error: 'a flag that no field of agent.yaml decides' }))
      .default([])
      .describe("Further arguments of vLLM's server, such as ['--tensor-parallel-size', '2']."),
  })
  .describe('How `whet up` starts vLLM; only with server vllm.');

/** The name of a model that nobody names, because nothing is played with it. */
export const UNNAMED_MODEL = 'unnamed';

/** The agent's base model: where it comes from, and what serves it. */
export const modelSpecSchema = z
  .strictObject({
    baseUrl: apiUrlSchema
      .optional()
      .describe('OpenAI-compatible endpoint; absent: the policy server that `whet up` starts.'),
    name: z.string().min(1).describe('Served name of the base model.'),
    recipe: z
      .string()
      .optional()
      .describe(
        'Python script that makes the model (demo only), relative to agent.yaml. ' +
          'It is called with --seed, recipeArguments and --cache.',
      ),
    recipeArguments: z.array(z.string()).default([]).describe('Further arguments of the recipe.'),
    path: z
      .string()
      .optional()
      .describe(
        'Directory of the base model in save_pretrained format. Every run needs it, even one that trains nothing, ' +
          'unless a recipe makes it.',
      ),
    server: z
      .enum(['embedded', 'vllm'])
      .default('embedded')
      .describe(
        'The policy server that `whet up` starts where there is no baseUrl. embedded: ours, for plain Llamas of up ' +
          'to 1,024 tokens; vllm: a vLLM, which scripts/vllm.sh installs or WHET_VLLM_PYTHON names.',
      ),
    vllm: vllmSpecSchema.optional(),
    temperature: z.number().nonnegative().default(1).describe('Sampling temperature of the deployed agent.'),
    maxCompletionTokens: count.default(512).describe('Most tokens of one answer of the agent.'),
    timeoutSeconds: count
      // The second try gets twice the time.
      .max(Math.floor(LONGEST_TIMER_MS / 2000))
      .optional()
      .describe(
        'Seconds that the server may send nothing while an answer is due, its queue included. Then the request is ' +
          'sent once more with twice the time. Absent: 120, and 1 for each token of maxCompletionTokens; in ' +
          'proportion more where more than 100 episodes are played at a time.',
      ),
  })
  .refine(({ server, baseUrl }) => server !== 'vllm' || baseUrl === undefined, {
    error: 'embedded; vllm only without baseUrl, which names a server that runs already',
    path: ['server'],
  })
  .refine(({ server, vllm }) => server === 'vllm' || vllm === undefined, {
    error: 'nothing, unless model.server is vllm',
    path: ['vllm'],
  });
export type VllmSpec = z.infer<typeof vllmSpecSchema>;
