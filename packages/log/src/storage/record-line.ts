import { encodeRecord, type LogRecord } from '@millrace/core';

interface KnownLine {
  readonly record: LogRecord;
  readonly line: string;
}

/**
 * Lines of records that a hash chain has encoded, by the delta or fact of the record. The store needs the same
 * lines a moment later. `encodeLine` removes a line when it uses it.
 */
const known = new Map<object, KnownLine>();
/** The length of all known lines together. */
let knownLength = 0;
/** The maximum of `knownLength`. A store in memory does not use the lines, so they must stay few. */
const maxKnownLength = 2 ** 18;

/** Encodes a record without its links. The hash chain of a session depends on this text, so it must not change. */
export function encodeUnlinked(record: LogRecord): string {
  const line = encodeRecord(withoutLinks(record));
  if (knownLength + line.length > maxKnownLength) forgetLines();
  if (line.length <= maxKnownLength) {
    known.set(record.delta ?? record.fact, { record, line });
    knownLength += line.length;
  }
  return line;
}

/** Encodes a record with its links, like `encodeRecord`. It uses the line that a chain has encoded, if any. */
export function encodeLine(record: LogRecord): string {
  if (known.size === 0) return encodeRecord(record);
  const found = known.get(record.delta ?? record.fact);
  if (found === undefined || !hasSameHead(found.record, record)) return encodeRecord(record);
  const { line } = found;
  known.delete(record.delta ?? record.fact);
  knownLength -= line.length;
  const { links } = record;
  // The links are the last field of a record.
  return links === undefined ? line : `${line.slice(0, -1)},"links":${JSON.stringify(links)}}`;
}

/** Returns the record without links. */
export function withoutLinks(record: LogRecord): LogRecord {
  if (record.links === undefined) return record;
  const { links: _links, ...rest } = record;
  return rest;
}

function forgetLines(): void {
  known.clear();
  knownLength = 0;
}

function hasSameHead(one: LogRecord, other: LogRecord): boolean {
  return (
    one.offset === other.offset &&
    one.time === other.time &&
    one.turn === other.turn &&
    one.attempt === other.attempt &&
    one.producer === other.producer &&
    one.v === other.v
  );
}
