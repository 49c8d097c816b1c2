import {
  decodeBatch,
  encodeRecord,
  isJsonObject,
  type JsonValue,
  parseJson,
  type SessionId,
} from '@millrace/core';
import type { BusNotice } from '../contract/bus.ts';

/**
 * Encodes a notice as the fields of a stream entry. If the records are larger than `maxBytes`, the notice
 * omits them.
 */
export function encodeNotice(notice: BusNotice, maxBytes: number): readonly string[] {
  const { records, through, session, ...rest } = notice;
  const lines = linesOf(notice, maxBytes);
  const after = through - lines.length;
  const batch = `{"after":${after},"through":${through},"records":[${lines.join(',')}]}`;
  return ['head', JSON.stringify({ session, ...rest }), 'batch', batch];
}

function linesOf({ records }: BusNotice, maxBytes: number): readonly string[] {
  const lines: string[] = [];
  let bytes = 0;
  for (const record of records) {
    const line = encodeRecord(record);
    bytes += Buffer.byteLength(line);
    if (bytes > maxBytes) return [];
    lines.push(line);
  }
  return lines;
}

/** Decodes a stream entry. Returns `undefined` if it is not a valid notice of this session. */
export function decodeNotice(
  session: SessionId,
  fields: readonly unknown[],
): BusNotice | undefined {
  const [headField, headText, batchField, batchText] = fields;
  if (headField !== 'head' || batchField !== 'batch') return undefined;
  if (typeof headText !== 'string' || typeof batchText !== 'string') return undefined;
  const head = decodeHead(headText);
  if (head === undefined || head.session !== session) return undefined;
  try {
    const { after, through, records } = decodeBatch(batchText);
    const isDense = records.every(({ offset }, index) => offset === after + 1 + index);
    if (!isDense || after + records.length !== through) return undefined;
    return { ...head, session, through, records };
  } catch {
    return undefined;
  }
}

type Head = Omit<BusNotice, 'through' | 'records' | 'session'> & { readonly session: string };

function decodeHead(text: string): Head | undefined {
  const parsed = parseJson(text);
  if (!parsed.ok || !isJsonObject(parsed.value)) return undefined;
  const { session, made, incarnation, rewrites, changedAt, isClosed, openWork, queuedCommands } =
    parsed.value;
  if (typeof session !== 'string' || typeof isClosed !== 'boolean') return undefined;
  if (typeof incarnation !== 'string') return undefined;
  if (!isCount(made) || !isCount(rewrites) || !isCount(queuedCommands)) return undefined;
  if (typeof changedAt !== 'number' || !isTexts(openWork)) return undefined;
  const state = { made, incarnation, rewrites, changedAt };
  return { session, ...state, isClosed, openWork, queuedCommands };
}

function isCount(value: JsonValue | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isTexts(value: JsonValue | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}
