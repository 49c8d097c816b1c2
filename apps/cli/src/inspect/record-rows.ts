import type { Delta, Fact, LogRecord, Part, Stop, Usage } from '@millrace/core';
import { countOf } from '../print/text-table.ts';
import { oneLine } from '../text/cells/printable.ts';

/**
 * A table row: the offset, the time since the start of the session, the turn and attempt, the type,
 * and the content.
 */
type RecordRow = readonly [string, string, string, string, string];

interface RowGroup {
  readonly first: LogRecord;
  last: LogRecord;
  count: number;
  text: string;
}

const maxTextLength = 300;

/**
 * Formats records as table rows. A part may have thousands of append records, so consecutive append
 * records become one row.
 */
export async function* recordRows(records: AsyncIterable<LogRecord>): AsyncGenerator<RecordRow> {
  let run: RowGroup | undefined;
  let startMs: number | undefined;
  for await (const record of records) {
    startMs ??= record.time;
    if (run !== undefined && continuesPart(run.last, record)) {
      run.last = record;
      run.count++;
      if (run.text.length < maxTextLength) run.text += chunkOf(record);
      continue;
    }
    if (run !== undefined) yield rowOf(run, startMs);
    run = { first: record, last: record, count: 1, text: chunkOf(record) };
  }
  if (run !== undefined) yield rowOf(run, startMs ?? 0);
}

function continuesPart(before: LogRecord, record: LogRecord): boolean {
  return (
    before.delta?.type === 'append_text' &&
    record.delta?.type === 'append_text' &&
    before.delta.partId === record.delta.partId
  );
}

function chunkOf({ delta }: LogRecord): string {
  return delta?.type === 'append_text' ? delta.chunk : '';
}

function rowOf({ first, last, count, text }: RowGroup, startMs: number): RecordRow {
  const { offset, time, turn, attempt, fact, delta } = first;
  const type = (fact ?? delta).type;
  return [
    count === 1 ? String(offset) : `${offset}–${last.offset}`,
    `+${((time - startMs) / 1000).toFixed(3)}`,
    `${turn}.${attempt}`,
    count === 1 ? type : `${type} ×${count}`,
    oneLine(count === 1 ? recordText(first) : JSON.stringify(text), maxTextLength),
  ];
}

/**
 * Returns a short text about a record, for the last column. It can contain control characters, so
 * the caller must make it printable.
 */
function recordText({ fact, delta }: LogRecord): string {
  return fact === undefined ? deltaText(delta) : factText(fact);
}

function deltaText(delta: Delta): string {
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
      if (delta.part !== undefined) return partText(delta.part);
      return `${delta.length} long${delta.partial ? ', partial' : ''}`;
    case 'retract_part':
      return delta.reason;
    case 'unknown':
      return JSON.stringify(delta.raw);
  }
}

function partText(part: Part): string {
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

function factText(fact: Fact): string {
  switch (fact.type) {
    case 'item_started':
      return [fact.kind, fact.author?.name].filter(Boolean).join(' by ');
    case 'response_started':
      return `${fact.provider} ${fact.model}`;
    case 'response_finished':
      return `${stopText(fact.stop)}, ${usageText(fact.usage)}`;
    case 'usage_reported':
      return usageText(fact.usage);
    case 'child_usage_reported':
      return `${fact.of.agent}: ${usageText(fact.usage)}`;
    case 'item_finished':
    case 'turn_finished':
    case 'run_finished':
      return fact.stop === undefined ? '' : stopText(fact.stop);
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
      return otherFactText(fact);
  }
}

/** Lists all fields of a fact except the type and the ids. */
function otherFactText({ type: _, ...fields }: Fact): string {
  const fieldTexts = Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined || /id$|^key$/i.test(name)) return [];
    return typeof value === 'string' ? value : `${name} ${JSON.stringify(value)}`;
  });
  return fieldTexts.join(', ');
}

function stopText({ reason, cause }: Stop): string {
  return cause === undefined ? reason : `${reason} (${cause})`;
}

export function usageText({ input, output, estimated, costs }: Usage): string {
  const about = estimated ? 'about ' : '';
  const money = costs.map(({ amount, currency }) => `, ${amount} ${currency}`).join('');
  return `${about}${input} in, ${output} out${money}`;
}
