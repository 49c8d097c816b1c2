import { createHash } from 'node:crypto';

const maxLength = 64;
const maxServerLength = 32;
const hashLength = 8;

/**
 * The name of each tool for the model: `<server>_<tool>`. One that does not fit ends in a hash of what it
 * is called by its server, so that it keeps its name whatever other tools come and go: a call in an old
 * transcript must not become a call of another tool.
 */
export function toolNames(server: string, tools: readonly string[]): ReadonlyMap<string, string> {
  const prefix = slug(server).slice(0, maxServerLength);
  const plain = new Set(tools.map((tool) => `${prefix}_${tool}`).filter(fits));
  const names = new Map<string, string>();
  const taken = new Set(plain);
  for (const tool of tools) {
    if (names.has(tool)) continue;
    const wanted = `${prefix}_${tool}`;
    const name = plain.has(wanted) ? wanted : hashedName(wanted, tool, taken);
    taken.add(name);
    names.set(tool, name);
  }
  return names;
}

function fits(name: string): boolean {
  return name.length <= maxLength && name === slug(name);
}

function slug(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/gu, '_');
}

/** Another round only if a server made a name up that has the hash of another in it. */
function hashedName(wanted: string, tool: string, taken: ReadonlySet<string>): string {
  for (let round = 0; ; round++) {
    const hash = createHash('sha256').update(`${round}:${tool}`).digest('hex').slice(0, hashLength);
    const name = `${slug(wanted).slice(0, maxLength - hashLength - 1)}_${hash}`;
    if (!taken.has(name)) return name;
  }
}
