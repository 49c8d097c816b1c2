import { readFileSync } from 'node:fs';

/**
 * An example in PROTOCOL.md: a log, the transcript to which it folds, and the types of its events.
 */
export interface ProtocolExample {
  readonly name: string;
  readonly lines: readonly string[];
  readonly transcript: string;
  readonly events: readonly string[];
}

const examplePattern =
  /^### Example: (.+)\n[\s\S]*?```jsonl\n([\s\S]*?)\n```\n\n```json\n([\s\S]*?)\n```\n\nEvents: (.+)\.$/gm;

export function protocolExamples(): readonly ProtocolExample[] {
  const document = readFileSync(new URL('../PROTOCOL.md', import.meta.url), 'utf8');
  return [...document.matchAll(examplePattern)].map(
    ([, name = '', lines = '', transcript = '', events = '']) => ({
      name,
      lines: lines.split('\n'),
      transcript,
      events: [...events.matchAll(/`(\w+)`/g)].map(([, type = '']) => type),
    }),
  );
}
