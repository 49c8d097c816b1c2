import { parseJson } from '../json/parse-json.ts';
import { defaultLimits, type Limits } from '../limits.ts';
import { type Item, transcriptVersion } from '../protocol/item.ts';
import { type Batch, type LogRecord, recordVersion } from '../protocol/record.ts';
import { item } from './content.ts';
import { DecodeError, Misfit, pathText } from './decode-error.ts';
import { count, type Decoder, list, object, string } from './decoder.ts';
import { delta } from './delta.ts';
import { fact } from './fact.ts';
import { wireDelta, wireFact, wireItem } from './to-wire.ts';

/** A record as one line of JSON. */
export function encodeRecord(record: LogRecord): string {
  return JSON.stringify(wireRecord(record));
}

export function decodeRecord(text: string, limits: Partial<Limits> = {}): LogRecord {
  return decodeText('a record', text, record, limits);
}

export function encodeBatch(batch: Batch): string {
  return JSON.stringify({ ...batch, records: batch.records.map(wireRecord) });
}

export function decodeBatch(text: string, limits: Partial<Limits> = {}): Batch {
  return decodeText('a batch', text, batch, limits);
}

/** A transcript as a document of its own, which knows nothing of records and deltas. */
export function encodeTranscript(items: readonly Item[]): string {
  return JSON.stringify({ v: transcriptVersion, items: items.map(wireItem) });
}

export function decodeTranscript(text: string, limits: Partial<Limits> = {}): readonly Item[] {
  return decodeText('a transcript', text, transcript, limits).items;
}

export function decodeText<T>(
  what: string,
  text: string,
  decode: Decoder<T>,
  changed: Partial<Limits>,
): T {
  const limits = { ...defaultLimits, ...changed };
  const { maxDepth, maxDocumentLength } = limits;
  const parsed = parseJson(text, { maxDepth, maxTextLength: maxDocumentLength });
  if (!parsed.ok) {
    const { code, position, message } = parsed.failure;
    const problem = code === 'too_large' || code === 'too_deep' ? 'too_large' : 'not_json';
    throw new DecodeError(problem, `Cannot read ${what}: ${message}`, { position });
  }
  try {
    return decode(parsed.value, limits);
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    throw decodeError(what, error);
  }
}

function decodeError(what: string, cause: Misfit): DecodeError {
  const path = pathText(cause.path);
  const message = `Cannot read ${what} at ${path}: ${cause.message}`;
  return new DecodeError(cause.code, message, { path }, { cause });
}

function wireRecord(given: LogRecord): object {
  return given.delta === undefined
    ? { ...given, fact: wireFact(given.fact) }
    : { ...given, delta: wireDelta(given.delta) };
}

function version<V extends number>(known: V): Decoder<V> {
  return (value) => {
    if (value === known) return known;
    const isNewer = typeof value === 'number' && value > known;
    const advice = isNewer ? '; it was written by a later Millrace: update this one' : '';
    throw new Misfit(
      `expected version ${known}${advice}`,
      isNewer ? 'unsupported_version' : 'bad_value',
    );
  };
}

const offset: Decoder<number> = (value, limits) => {
  const number = count(value, limits);
  if (number > 0) return number;
  throw new Misfit('expected an offset, which starts at 1');
};

const head = {
  v: version(recordVersion),
  offset,
  time: count,
  turn: count,
  attempt: count,
  producer: string,
};

const deltaRecord: Decoder<LogRecord> = object<LogRecord & { readonly fact?: undefined }>({
  ...head,
  delta,
  fact: () => undefined,
});

const factRecord: Decoder<LogRecord> = object<LogRecord & { readonly delta?: undefined }>({
  ...head,
  fact,
  delta: () => undefined,
});

const record: Decoder<LogRecord> = (value, limits) => {
  const keys = new Set(typeof value === 'object' && value !== null ? Object.keys(value) : []);
  if (keys.has('delta') && keys.has('fact'))
    throw new Misfit('expected a delta or a fact, found both');
  return keys.has('fact') ? factRecord(value, limits) : deltaRecord(value, limits);
};

const batch: Decoder<Batch> = object<Batch>({
  after: count,
  through: count,
  records: list(record),
});

const transcript: Decoder<{ readonly items: readonly Item[] }> = object<{
  readonly v: typeof transcriptVersion;
  readonly items: readonly Item[];
}>({ v: version(transcriptVersion), items: list(item) });
