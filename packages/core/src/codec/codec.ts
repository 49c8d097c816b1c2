import type { JsonValue } from '../json/json-value.ts';
import { parseJson } from '../json/parse-json.ts';
import { type ContentLimits, completeLimits } from '../limits.ts';
import { type Item, transcriptVersion } from '../protocol/item.ts';
import {
  type Batch,
  type DeltaRecord,
  type DraftRecord,
  type FactRecord,
  type LogRecord,
  recordVersion,
} from '../protocol/record.ts';
import { item } from './content.ts';
import {
  count,
  DecodeError,
  type DecodeErrorCode,
  DecodeFailure,
  type Decoder,
  list,
  object,
  offset,
  optional,
  pathText,
  string,
} from './decoder.ts';
import { delta } from './delta.ts';
import { wireDelta, wireFact, wireItem } from './encode.ts';
import { fact } from './fact.ts';

/** Encodes a record as one line of JSON. */
export function encodeRecord(record: LogRecord): string {
  return JSON.stringify(wireRecord(record));
}

/**
 * Decodes a record from one line of JSON. Throws `DecodeError` with the path of the first wrong field.
 */
export function decodeRecord(text: string, limits: Partial<ContentLimits> = {}): LogRecord {
  return decodeText('a record', text, record, limits);
}

/** Encodes a draft: a record without the fields that only the store can add. */
export function encodeDraft(draft: DraftRecord): string {
  const { turn, attempt } = draft;
  return JSON.stringify({ turn, attempt, ...wireBody(draft) });
}

/** Decodes a draft. Throws `DecodeError` with the path of the first wrong field. */
export function decodeDraft(text: string, limits: Partial<ContentLimits> = {}): DraftRecord {
  return decodeText('a draft', text, draft, limits);
}

/** Encodes a batch as one line of JSON. */
export function encodeBatch({ after, through, records }: Batch): string {
  return JSON.stringify({ after, through, records: records.map(wireRecord) });
}

/** Decodes a batch. Throws `DecodeError` with the path of the first wrong field. */
export function decodeBatch(text: string, limits: Partial<ContentLimits> = {}): Batch {
  return decodeText('a batch', text, batch, limits);
}

/** Encodes a transcript as a separate document. The document contains no records and no deltas. */
export function encodeTranscript(items: readonly Item[]): string {
  return JSON.stringify({ v: transcriptVersion, items: items.map(wireItem) });
}

/** Decodes a transcript. Throws `DecodeError` with the path of the first wrong field. */
export function decodeTranscript(
  text: string,
  limits: Partial<ContentLimits> = {},
): readonly Item[] {
  return decodeText('a transcript', text, transcript, limits).items;
}

export function decodeText<T>(
  what: string,
  text: string,
  decode: Decoder<T>,
  changed: Partial<ContentLimits>,
): T {
  const limits = completeLimits(changed);
  const value = parse(what, text, limits);
  try {
    return decode(value, limits);
  } catch (error) {
    if (!(error instanceof DecodeFailure)) throw error;
    throw decodeError(what, error);
  }
}

// The number of nesting levels of a document around a value. The depth limit applies to the value, so a
// reader adds these levels. The deepest value is at
// batch.records[].fact.items[].parts[].part.attachments[].providerState.data.
const levelsAround = 12;

function parse(what: string, text: string, limits: ContentLimits): JsonValue {
  const { maxDepth, maxDocumentLength } = limits;
  if (typeof text !== 'string') throw unreadable('not_json', what, 0, 'it is no text');
  // The length is checked before the parse, because parsing a text only to refuse it could take seconds.
  if (text.length > maxDocumentLength) {
    const why = `longer than the limit of ${maxDocumentLength} (maxDocumentLength)`;
    throw unreadable('too_large', what, maxDocumentLength, why);
  }
  const bounds = { maxDepth: maxDepth + levelsAround, maxTextLength: maxDocumentLength };
  const parsed = parseJson(text, bounds);
  if (parsed.ok) return parsed.value;
  const { code, position, message } = parsed.failure;
  if (code === 'too_deep') {
    const why = `a value is nested deeper than the limit of ${maxDepth} (maxDepth)`;
    throw unreadable('too_large', what, position, why);
  }
  throw unreadable(code === 'too_large' ? code : 'not_json', what, position, message);
}

function unreadable(
  code: DecodeErrorCode,
  what: string,
  position: number,
  why: string,
): DecodeError {
  return new DecodeError(code, `Cannot read ${what}: ${why}`, { position });
}

function decodeError(what: string, cause: DecodeFailure): DecodeError {
  const path = pathText(cause.path);
  const message = `Cannot read ${what} at ${path}: ${cause.message}`;
  return new DecodeError(cause.code, message, { path }, { cause });
}

// Lists the fields in a fixed order, so that equal records always have equal text.
function wireRecord(record: LogRecord): object {
  const { v, offset, time, turn, attempt, producer, links } = record;
  const wire = { v, offset, time, turn, attempt, producer, ...wireBody(record) };
  return links === undefined ? wire : { ...wire, links };
}

function wireBody({ delta, fact }: DraftRecord): object {
  return delta === undefined ? { fact: wireFact(fact) } : { delta: wireDelta(delta) };
}

function version<V extends number>(known: V): Decoder<V> {
  return (value) => {
    if (value === known) return known;
    const isNewer = typeof value === 'number' && value > known;
    const advice = isNewer ? '; it was written by a later Millrace: update this one' : '';
    throw new DecodeFailure(
      `expected version ${known}${advice}`,
      isNewer ? 'unsupported_version' : 'bad_value',
    );
  };
}

const head = {
  v: version(recordVersion),
  offset,
  time: count,
  turn: count,
  attempt: count,
  producer: string,
  links: optional(list(string)),
};

const notBoth: Decoder<undefined> = (value) => {
  if (value !== undefined) throw new DecodeFailure('expected a delta or a fact, found both');
};

/**
 * Returns a decoder for a value with either a fact or a delta. A value with neither is reported as
 * a missing delta.
 */
function either<T>(ofDelta: Decoder<T>, ofFact: Decoder<T>): Decoder<T> {
  return (value, limits) => {
    const hasFact = typeof value === 'object' && value !== null && 'fact' in value;
    return hasFact ? ofFact(value, limits) : ofDelta(value, limits);
  };
}

const record: Decoder<LogRecord> = either<LogRecord>(
  object<DeltaRecord>({ ...head, fact: notBoth, delta }),
  object<FactRecord>({ ...head, delta: notBoth, fact }),
);

const attempt = { turn: count, attempt: count };

const draft: Decoder<DraftRecord> = either<DraftRecord>(
  object<Pick<DeltaRecord, 'turn' | 'attempt' | 'delta' | 'fact'>>({
    ...attempt,
    fact: notBoth,
    delta,
  }),
  object<Pick<FactRecord, 'turn' | 'attempt' | 'delta' | 'fact'>>({
    ...attempt,
    delta: notBoth,
    fact,
  }),
);

const anyBatch: Decoder<Batch> = object<Batch>({
  after: count,
  through: count,
  records: list(record),
});

const batch: Decoder<Batch> = (value, limits) => {
  const decoded = anyBatch(value, limits);
  if (decoded.after <= decoded.through) return decoded;
  throw new DecodeFailure('expected a batch that ends where it starts or later');
};

const transcript: Decoder<{ readonly items: readonly Item[] }> = object<{
  readonly v: typeof transcriptVersion;
  readonly items: readonly Item[];
}>({ v: version(transcriptVersion), items: list(item) });
