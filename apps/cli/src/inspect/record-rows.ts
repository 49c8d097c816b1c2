import type { Delta, Fact, LogRecord, Part, Stop, Usage } from '@millrace/core';
import { countOf, oneLine } from '../print/printable.ts';

/** Offset, time since the session's start, turn and attempt, type, and what it is about. */
type RecordRow = readonly [string, string, string, string, string];

interface Run {
  readonly first: LogRecord;
  last: LogRecord;
  count: number;
  words: string;
}

const wordsLength = 300;

/** The records as rows. Neighbouring appends of one part are one row: there may be thousands. */
export async function* recordRows(records: AsyncIterable<LogRecord>): AsyncGenerator<RecordRow> {
  let run: Run | undefined;
  let startMs: number | undefined;
  for await (const record of records) {
    startMs ??= record.time;
    if (run !== undefined && isNext(run.last, record)) {
      run.last = record;
      run.count++;
      if (run.words.length < wordsLength) run.words += chunkOf(record);
      continue;
    }
    if (run !== undefined) yield rowOf(run, startMs);
    run = { first: record, last: record, count: 1, words: chunkOf(record) };
  }
  if (run !== undefined) yield rowOf(run, startMs ?? 0);
}

function isNext(before: LogRecord, record: LogRecord): boolean {
  return (
    before.delta?.type === 'append_text' &&
    record.delta?.type === 'append_text' &&
    before.delta.partId === record.delta.partId
  );
}

function chunkOf({ delta }: LogRecord): string {
  return delta?.type === 'append_text' ? delta.chunk : '';
}

function rowOf({ first, last, count, words }: Run, startMs: number): RecordRow {
  const { offset, time, turn, attempt, fact, delta } = first;
  const type = (fact ?? delta).type;
  return [
    count === 1 ? String(offset) : `${offset}–${last.offset}`,
    `+${((time - startMs) / 1000).toFixed(3)}`,
    `${turn}.${attempt}`,
    count === 1 ? type : `${type} ×${count}`,
    oneLine(count === 1 ? recordWords(first) : JSON.stringify(words), wordsLength),
  ];
}

/** What a record is about, in short: the last column of the table. It may be anything, and needs cleaning. */
function recordWords({ fact, delta }: LogRecord): string {
  return fact === undefined ? deltaWords(delta) : factWords(fact);
}

function deltaWords(delta: Delta): string {
  switch (delta.type) {
    case 'begin_part':
      return [delta.kind, 'name' in delta ? delta.name : undefined].filter(Boolean).join(' ');
    case 'append_text':
      return JSON.stringify(delta.chunk);
    case 'append_bytes':
      return `${delta.chunk.length} bytes`;
    case 'replace_structured':
      return JSON.stringify(delta.value);
    case 'set_metadata':
      return JSON.stringify(delta.metadata);
    case 'commit_part':
      if (delta.part !== undefined) return partWords(delta.part);
      return `${delta.length} long${delta.partial ? ', partial' : ''}`;
    case 'retract_part':
      return delta.reason;
    case 'unknown':
      return JSON.stringify(delta.raw);
  }
}

function partWords(part: Part): string {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return `${part.kind} ${JSON.stringify(part.text)}`;
    case 'tool_call':
      return `tool_call ${part.name} ${part.arguments}`;
    case 'tool_result':
      return `tool_result ${part.name}${part.isError ? ' failed' : ''} ${JSON.stringify(part.text)}`;
    case 'structured':
    case 'custom':
      return `${part.kind} ${JSON.stringify(part.value)}`;
    case 'media':
    case 'file':
      return `${part.kind} ${part.mimeType}`;
  }
}

function factWords(fact: Fact): string {
  switch (fact.type) {
    case 'item_started':
      return [fact.kind, fact.author?.name].filter(Boolean).join(' by ');
    case 'response_started':
      return `${fact.provider} ${fact.model}`;
    case 'response_finished':
      return `${stopWords(fact.stop)}, ${usageWords(fact.usage)}`;
    case 'usage_reported':
      return usageWords(fact.usage);
    case 'item_finished':
    case 'turn_finished':
    case 'run_finished':
      return fact.stop === undefined ? '' : stopWords(fact.stop);
    case 'tool_execution_started':
      return fact.summary;
    case 'tool_execution_finished':
      return `${fact.name} ${fact.outcome}${fact.isError ? ', failed' : ''}`;
    case 'command_queued':
      return String(fact.command['type'] ?? '');
    case 'compacted':
      return countOf(fact.itemIds.length, 'item');
    case 'snapshot':
      return `of ${fact.covers.join(' to ')}`;
    default:
      return otherWords(fact);
  }
}

/** All that it has but its type and its ids. */
function otherWords({ type: _, ...fields }: Fact): string {
  const told = Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined || /id$|^key$/i.test(name)) return [];
    return typeof value === 'string' ? value : `${name} ${JSON.stringify(value)}`;
  });
  return told.join(', ');
}

function stopWords({ reason, cause }: Stop): string {
  return cause === undefined ? reason : `${reason} (${cause})`;
}

export function usageWords({ input, output, estimated, costs }: Usage): string {
  const about = estimated ? 'about ' : '';
  const money = costs.map(({ amount, currency }) => `, ${amount} ${currency}`).join('');
  return `${about}${input} in, ${output} out${money}`;
}
