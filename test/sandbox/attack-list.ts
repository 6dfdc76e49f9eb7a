import type { Attack } from './attacks/attack';

const WIDTH = 118;

/** docs/reference/attacks.md without its heading: the name of every attack, one block a family. */
export function attackList(families: Readonly<Record<string, readonly Attack[]>>): string {
  return Object.entries(families)
    .map(
      ([family, attacks]) =>
        `## ${family} (${attacks.length})\n\n\`\`\`text\n${wrap(attacks.map(({ name }) => name)).join('\n')}\n\`\`\``,
    )
    .join('\n\n');
}

function wrap(names: readonly string[]): string[] {
  const lines = [''];
  names.forEach((name, index) => {
    const word = index === names.length - 1 ? name : `${name};`;
    const last = lines.at(-1)!;
    if (last === '') lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  });
  return lines;
}
