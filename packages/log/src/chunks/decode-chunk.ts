import { decodeRecord, isMillraceError, type LogRecord, recordVersion } from '@millrace/core';
import { LogError } from '../contract/log-error.ts';
import { decodeRun } from './append-run.ts';

/** Where a chunk stands: it says all that there is from one offset to another. */
export interface ChunkPlace {
  readonly session: string;
  readonly first: number;
  readonly last: number;
}

/** Throws `corrupt` where any of it is not as `encodeChunks` writes it, `too_new` where a later version did. */
export function decodeChunk(body: string, place: ChunkPlace): readonly LogRecord[] {
  const records: LogRecord[] = [];
  let next = place.first;
  for (const line of body === '' ? [] : body.split('\n')) {
    for (const record of decodeLine(line, { ...place, first: next })) {
      if (record.offset < next || record.offset > place.last)
        throw corruptChunk({ ...place, first: next }, 'its offset is out of place');
      next = record.offset + 1;
      records.push(record);
    }
  }
  return records;
}

/** The place names where in the chunk the line is, as far as that is known. */
function decodeLine(line: string, place: ChunkPlace): readonly LogRecord[] {
  if (line.startsWith('{')) return [readRecord(line, place)];
  const parsed = parseArray(line);
  if (Number(parsed?.[0]) > recordVersion) throw tooNew(place);
  const records = parsed && decodeRun(parsed);
  if (records === undefined) throw corruptChunk(place, 'a line is none of ours');
  return records;
}

function readRecord(line: string, place: ChunkPlace): LogRecord {
  try {
    return decodeRecord(line);
  } catch (error) {
    throw unreadable(error, place);
  }
}

function parseArray(line: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function unreadable(cause: unknown, place: ChunkPlace): LogError {
  const isNewer = isMillraceError(cause) && cause.code === 'unsupported_version';
  return isNewer ? tooNew(place, cause) : corruptChunk(place, 'a record is not readable', cause);
}

function tooNew({ session, first: offset }: ChunkPlace, cause?: unknown): LogError {
  const message = `Cannot read session ${session} at offset ${offset}: a later version wrote it. Use that one`;
  return new LogError('too_new', message, { session, offset }, { cause });
}

export function corruptChunk(
  { session, first: offset }: ChunkPlace,
  why: string,
  cause?: unknown,
): LogError {
  const message = `Cannot read session ${session} at offset ${offset}: ${why}. What is stored is damaged; restore a backup`;
  return new LogError('corrupt', message, { session, offset }, { cause });
}
