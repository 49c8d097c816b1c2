import { encodeRecord, type LogRecord } from '@millrace/core';
import { MatchIndex } from '../model/record-index.ts';

/** More are not marked: whoever finds so many looks for something else. */
const maxFound = 10_000;

interface Query {
  /** As it stands, whatever the case; may lie across several records. */
  readonly text: string;
  readonly types: readonly string[];
  readonly tools: readonly string[];
  readonly turn: number | undefined;
}

/** `type:`, `tool:` and `turn:` say where to look, all else what for. */
function parseQuery(input: string): Query {
  const words = input
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const valuesOf = (name: string) =>
    words.filter((word) => word.startsWith(`${name}:`)).map((word) => word.slice(name.length + 1));
  const isFilter = (word: string) => /^(?:type|tool|turn):/.test(word);
  const turn = valuesOf('turn').find((value) => /^\d+$/.test(value));
  return {
    text: words.filter((word) => !isFilter(word)).join(' '),
    types: valuesOf('type'),
    tools: valuesOf('tool'),
    turn: turn === undefined ? undefined : Number(turn),
  };
}

/** The places of the records that fit, found as records come. */
export function searchRecords(records: readonly LogRecord[], input: string): MatchIndex {
  const query = parseQuery(input);
  const { text, types, tools, turn } = query;
  const isAsked = text !== '' || types.length > 0 || tools.length > 0 || turn !== undefined;
  const matcher = new RecordMatcher(query);
  return new MatchIndex(records, (record) => matcher.matches(record), isAsked ? maxFound : 0);
}

/** Takes records in order: what is looked for may begin in one and end in another. */
class RecordMatcher {
  readonly #query: Query;
  /** The end of what each part has so far. */
  readonly #tails = new Map<string, string>();
  /** Which tool a part or a call is about. */
  readonly #tools = new Map<string, string>();

  constructor(query: Query) {
    this.#query = query;
  }

  matches(record: LogRecord): boolean {
    const { types, tools, turn } = this.#query;
    const tool = this.#toolOf(record);
    const hasText = this.#hasText(record);
    const type = typeOf(record);
    if (turn !== undefined && record.turn !== turn) return false;
    if (types.some((wanted) => !type.includes(wanted))) return false;
    if (tools.some((wanted) => !tool.includes(wanted))) return false;
    return hasText;
  }

  #hasText(record: LogRecord): boolean {
    const { text } = this.#query;
    const { delta } = record;
    if (text === '') return true;
    if (delta?.type !== 'append_text') return normalizeSpaces(encodeRecord(record)).includes(text);
    const all = normalizeSpaces((this.#tails.get(delta.partId) ?? '') + delta.chunk);
    this.#tails.set(delta.partId, all.slice(-(text.length - 1) || all.length));
    return all.includes(text);
  }

  #toolOf({ delta, fact }: LogRecord): string {
    const entry = delta ?? fact;
    if (entry === undefined) return '';
    const fields = entry as {
      name?: unknown;
      partId?: unknown;
      toolCallId?: unknown;
      part?: { name?: unknown };
    };
    const isTool =
      'toolCallId' in entry ||
      (delta?.type === 'commit_part' && delta.part !== undefined && 'toolCallId' in delta.part);
    const own = isTool ? (fields.name ?? fields.part?.name) : undefined;
    const ids = [fields.partId, fields.toolCallId].filter((id) => typeof id === 'string');
    const known = ids.map((id) => this.#tools.get(id)).find((name) => name !== undefined);
    const name = typeof own === 'string' ? own.toLowerCase() : (known ?? '');
    if (name !== '') for (const id of ids) this.#tools.set(id, name);
    return name;
  }
}

export function typeOf({ delta, fact }: LogRecord): string {
  const entry = delta ?? fact;
  if (entry?.type !== 'unknown') return entry?.type ?? '';
  const { type } = entry.raw;
  return typeof type === 'string' ? type : 'unknown';
}

function normalizeSpaces(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ');
}
