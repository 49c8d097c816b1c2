import { encodeRecord, type LogRecord } from '@millrace/core';
import { MatchIndex } from '../model/record-index.ts';

/** Maximum number of matches. */
const maxFound = 10_000;

interface Query {
  /** The text to find, in lower case. The text may span several records. */
  readonly text: string;
  readonly types: readonly string[];
  readonly tools: readonly string[];
  readonly turn: number | undefined;
}

/**
 * Parses a query. `type:`, `tool:` and `turn:` are filters. The other words are the text to find.
 */
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

/** Finds matching records. Records that are added later are searched too. */
export function searchRecords(records: readonly LogRecord[], input: string): MatchIndex {
  const query = parseQuery(input);
  const { text, types, tools, turn } = query;
  const isAsked = text !== '' || types.length > 0 || tools.length > 0 || turn !== undefined;
  const matcher = new RecordMatcher(query);
  return new MatchIndex(records, (record) => matcher.matches(record), isAsked ? maxFound : 0);
}

/**
 * Checks whether records match a query. Pass all records in order, because a text may start in one
 * record and end in a later one.
 */
class RecordMatcher {
  readonly #query: Query;
  /**
   * For each part, the last characters that have arrived. They are joined with the next record of
   * the part.
   */
  readonly #tails = new Map<string, string>();
  /** The tool name, by part id or call id. */
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
