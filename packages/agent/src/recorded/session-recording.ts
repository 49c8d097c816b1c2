import {
  type Attempt,
  decodeRecord,
  encodeRecord,
  type JsonObject,
  type JsonValue,
  type LogRecord,
  type SessionId,
  sessionId,
} from '@millrace/core';
import { badRecording, packValues, unpackValue } from './packed-values.ts';

/** A request as an agent sends it. */
export interface SentRequest extends Attempt {
  /** The name of the agent that sends the request. */
  readonly agent: string;
  /** `answer`: the request asks for the answer of a turn. `summary`: it asks for the summary of a compaction. */
  readonly purpose: 'answer' | 'summary';
  /** The id of the provider. */
  readonly provider: string;
  readonly model: string;
  /** The request in the format of Millrace: instructions and items, tools, options. */
  readonly request: JsonObject;
  /**
   * The request in the format of the provider, and the path of its URL. Undefined if the provider does not
   * describe its requests.
   */
  readonly wire?: WireRequest | undefined;
}

/** The path and the body of an HTTP request. Host and headers are omitted, because they are not the same everywhere. */
export interface WireRequest {
  readonly path: string;
  readonly body: JsonObject;
}

/** A difference between the loop of today and the recording that somebody accepted. */
export interface AcceptedDivergence {
  readonly offset: number;
  readonly message: string;
}

/** A recorded session, as a file of a test contains it. */
export interface SessionRecording {
  readonly session: SessionId;
  /** The name of the agent that is tested with this recording. */
  readonly agent: string;
  readonly records: readonly LogRecord[];
  /**
   * The requests that the agent sent. Undefined if they are unknown, because the session was not pinned. The
   * log contains no requests.
   */
  readonly requests?: readonly SentRequest[] | undefined;
  /** Facts about the program and the machine of a bug report, such as versions. Default: none. */
  readonly about?: Readonly<Record<string, string>> | undefined;
  /** The accepted difference of the loop. The requests after it are unknown. Default: none. */
  readonly accepted?: AcceptedDivergence | undefined;
}

/** The end of the names of files with a recording. */
export const recordingSuffix = '.recording.jsonl';

/** The version of the file format. Records have their own version. */
const version = 1;

/**
 * Returns the text of a file with a recording. Its lines are a header, the records, and the requests. Values
 * that several requests have in common are written once, so the file does not grow with the square of the
 * number of turns.
 */
export function encodeRecording(recording: SessionRecording): string {
  const { session, agent, records, requests, accepted, about } = recording;
  const packed = requests && packValues(requests as unknown as readonly JsonValue[]);
  const counts = { records: records.length, values: packed?.values.length };
  const head = { millrace: 'recording', v: version, session, agent, ...counts, accepted, about };
  const lines = [
    JSON.stringify(head),
    ...records.map((record) => encodeRecord(record)),
    ...(packed?.values ?? []).map((value) => JSON.stringify(value)),
    ...(packed?.packed ?? []).map((value) => JSON.stringify(value)),
  ];
  return `${lines.join('\n')}\n`;
}

/** Reads a file with a recording. Throws `bad_recording` if the text is not a recording. */
export function decodeRecording(text: string): SessionRecording {
  const [first = '', ...lines] = text.split('\n').filter((line) => line !== '');
  const head = parseLine(first) as Partial<Header>;
  if (head.millrace !== 'recording') throw badRecording('its first line is not the header');
  if (head.v !== version) throw badRecording('another version of the program wrote it');
  const { session, agent, records: count, values: valueCount, accepted } = head;
  if (typeof session !== 'string' || typeof agent !== 'string' || !isCount(count))
    throw badRecording('its header is incomplete');
  const records = lines.slice(0, count).map(readRecord);
  if (records.length < count) throw badRecording('records are missing at its end');
  const common = {
    ...{ session: sessionId(session), agent, records },
    ...(accepted && { accepted }),
    ...(head.about && { about: head.about }),
  };
  if (valueCount === undefined) return common;
  if (!isCount(valueCount)) throw badRecording('its header is incomplete');
  const values = lines.slice(count, count + valueCount).map(parseLine);
  const requests = lines
    .slice(count + valueCount)
    .map((line) => unpackValue(parseLine(line), values) as unknown as SentRequest);
  return { ...common, requests };
}

interface Header {
  readonly millrace: string;
  readonly v: number;
  readonly session: string;
  readonly agent: string;
  readonly records: number;
  readonly values?: number | undefined;
  readonly accepted?: AcceptedDivergence | undefined;
  readonly about?: Readonly<Record<string, string>> | undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function readRecord(line: string): LogRecord {
  try {
    return decodeRecord(line);
  } catch (cause) {
    throw badRecording('a record is damaged', cause);
  }
}

function parseLine(line: string): JsonValue {
  try {
    return JSON.parse(line) as JsonValue;
  } catch (cause) {
    throw badRecording('a line is not JSON', cause);
  }
}
