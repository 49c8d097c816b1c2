import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fieldsOf, parseLine, textOf } from './oracle/read-json.ts';

export type Wire = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini';

export const wires: readonly Wire[] = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'];

export interface Recording {
  /** The file name without its extensions. Recordings named `bad-…` must end in an error. */
  readonly name: string;
  readonly origin: 'shared' | 'own';
  /** The raw lines. Some lines are not JSON. */
  readonly events: readonly string[];
  /** The same lines, one list per response. */
  readonly responses: readonly (readonly string[])[];
}

const packageFolder = join(import.meta.dirname, '..', '..');
const sharedFolder = join(packageFolder, '..', '..', '..', 'shared', 'recordings');

/** True if the real recordings exist. They are stored beside the repository and are not part of it. */
export const hasSharedRecordings: boolean = existsSync(sharedFolder);

/** Returns all recordings of a wire. The fixtures of this package come last. */
export function recordingsOf(wire: Wire): readonly Recording[] {
  const shared = globSync(join(sharedFolder, wire, '*.chunks.txt')).sort();
  const own = globSync(join(packageFolder, 'fixtures', wire, '*.jsonl')).sort();
  return [
    ...shared.map((path) => recording(path, '.chunks.txt', 'shared')),
    ...own.map((path) => recording(path, '.jsonl', 'own')),
  ];
}

function recording(path: string, ending: string, origin: Recording['origin']): Recording {
  const events = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return { name: basename(path, ending), origin, events, responses: splitResponses(events) };
}

/**
 * Splits events into responses. A new response starts with another id after the previous response
 * ended. The same id again is a repeat. Another id before the end of a response means a corrupt
 * stream, which the reader must reject.
 */
export function splitResponses(events: readonly string[]): readonly (readonly string[])[] {
  const responses: string[][] = [[]];
  let id: string | undefined;
  let hasEnded = false;
  for (const line of events) {
    const started = startedId(line);
    if (started !== undefined && hasEnded && started !== id) responses.push([]);
    if (started !== undefined) id = started;
    hasEnded = started === undefined && (hasEnded || isEnd(line));
    responses.at(-1)?.push(line);
  }
  return responses;
}

function startedId(line: string): string | undefined {
  const event = fieldsOf(parseLine(line));
  if (event['type'] === 'message_start') return textOf(fieldsOf(event['message'])['id']);
  if (event['type'] === 'response.created') return textOf(fieldsOf(event['response'])['id']);
  return undefined;
}

const ends = new Set([
  'message_stop',
  'response.completed',
  'response.incomplete',
  'response.failed',
]);

function isEnd(line: string): boolean {
  return ends.has(textOf(fieldsOf(parseLine(line))['type']));
}
