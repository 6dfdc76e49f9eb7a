/**
 * An honest environment as synthesis writes it: a small state and JSON observations. It imports nothing, so that the
 * time of a start is that of the runtime.
 */
export const HONEST = `
class Environment:
    @staticmethod
    def tools():
        properties = {"item": {"type": "string"}, "count": {"type": "integer"}}
        parameters = {"type": "object", "properties": properties, "required": ["item", "count"]}
        function = {"name": "order", "description": "orders items", "parameters": parameters}
        return [{"type": "function", "function": function}]
    @staticmethod
    def generate_task(seed):
        return {"item": f"item-{seed % 7}", "count": seed % 5 + 1}
    def reset(self, seed):
        self.stock = {f"item-{number}": 10_000_000 for number in range(7)}
        return [{"role": "user", "content": f"Order {seed % 5 + 1} of item-{seed % 7}."}]
    def step(self, call):
        item, count = call["arguments"]["item"], call["arguments"]["count"]
        self.stock[item] -= count
        return {"observation": f'{{"ordered": {count}, "item": "{item}", "left": {self.stock[item]}}}', "done": False}
    @staticmethod
    def evaluate(trajectory, task):
        return 1.0 if any(entry["call"]["arguments"] == task for entry in trajectory if "call" in entry) else 0.0
    @staticmethod
    def reference_solution(task):
        return [{"name": "order", "arguments": {"item": task["item"], "count": task["count"]}}]
`;

/** The call that every measured step makes. */
export const CALL = { name: 'order', arguments: { item: 'item-3', count: 2 } };

/** Statements that an attack runs in its step, by name. Each takes the machine's time or the service's. */
const ATTACKS: Readonly<Record<string, string>> = {
  'loop without end': 'while True: pass',
  'every processor without the interpreter lock': `
threading.stack_size(65536)
data = bytes(1 << 22)
def spin():
    while True: hashlib.sha256(data).digest()
for _ in range(24): threading.Thread(target=spin, daemon=True).start()
time.sleep(3600)`,
  'fork bomb': `
while True:
    try: os.fork()
    except OSError: pass`,
  'thread bomb': `
threading.stack_size(65536)
while True:
    try: threading.Thread(target=time.sleep, args=(0.001,)).start()
    except RuntimeError: pass`,
  'memory bomb': `
while True:
    try:
        kept = []
        while True: kept.append(bytearray(16 << 20))
    except MemoryError: pass`,
  'system calls': 'while True: os.stat("/")',
  'failing opens': `
while True:
    try: open("/etc/passwd")
    except OSError: pass`,
  'sleep without end': 'time.sleep(3600)',
  'flood of stdout': 'while True: os.write(1, b"x" * 65536)',
  'flood of the response channel': 'while True: os.write(4, b"x" * 65536)',
  'flood of empty responses': 'while True: os.write(4, b"\\n" * 65536)',
  'deep JSON': 'os.write(4, b"[" * 1000000 + b"\\n"); time.sleep(1)',
  'largest legal answers': 'return "\\u20ac" * 65000',
  exceptions: 'raise ValueError("x" * 1000000)',
  'end of the process': 'os._exit(1)',
  crash: 'os.abort()',
};

/** What a step returns that attacks first. */
const ATTACK_STEP = 'return {"observation": str(attack()), "done": False}';

interface BenchAttack {
  name: string;
  source: string;
}

/** One environment for each attack, which it runs in every step. */
export const BENCH_ATTACKS: readonly BenchAttack[] = Object.entries(ATTACKS).map(([name, statements]) => ({
  name,
  source: `
import hashlib, os, threading, time
${HONEST.replace('item, count = call', `${ATTACK_STEP}\n        item, count = call`)}
def attack():
${statements
  .trim()
  .split('\n')
  .map((line) => `    ${line}`)
  .join('\n')}
`,
}));
