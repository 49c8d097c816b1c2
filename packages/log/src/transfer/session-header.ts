import { type JsonValue, sessionId } from '@millrace/core';
import type { SessionInfo } from '../contract/session-info.ts';
import { BadLineError, countIn, flagIn, numberIn, objectIn, parseFields, textIn } from './lines.ts';

/** The first line of an exported session. It contains all data of the session that is not in the records. */
export interface SessionHeader
  extends Pick<SessionInfo, 'session' | 'through' | 'createdAt' | 'changedAt' | 'isClosed'> {
  readonly origin: SessionInfo['origin'];
  /** The end of the session's hash chain. Undefined if the session has no chain. */
  readonly chain?: SessionInfo['chain'];
  /**
   * Ranges of offsets whose records were removed by settling or redaction. Any other missing offset is an
   * error.
   */
  readonly holes: readonly Hole[];
}

export type Hole = readonly [number, number];

/** The version of this file format. Records have their own version. */
const exportVersion = 1;

export function encodeHeader(header: SessionHeader): string {
  const { session, through, createdAt, changedAt, isClosed, origin, holes, chain } = header;
  const head = { millrace: 'session', v: exportVersion, session, through };
  return JSON.stringify({ ...head, createdAt, changedAt, isClosed, origin, holes, chain });
}

export function decodeHeader(line: string): SessionHeader {
  const fields = parseFields(line);
  if (fields['millrace'] !== 'session') throw new BadLineError('it is not the header of a session');
  const version = countIn(fields, 'v');
  if (version > exportVersion)
    throw new BadLineError('a later version of the program wrote it', 'too_new');
  if (version < exportVersion) throw new BadLineError('its version does not exist');
  const through = countIn(fields, 'through');
  return {
    session: sessionId(textIn(fields, 'session')),
    through,
    createdAt: numberIn(fields, 'createdAt'),
    changedAt: numberIn(fields, 'changedAt'),
    isClosed: flagIn(fields, 'isClosed'),
    origin: originOf(fields['origin']),
    holes: holesOf(fields['holes'], through),
    ...chainOf(fields['chain']),
  };
}

function chainOf(value: JsonValue | undefined): Pick<SessionHeader, 'chain'> {
  if (value === undefined) return {};
  const fields = objectIn(value, 'chain');
  const [count, start] = [countIn(fields, 'count'), countIn(fields, 'start')];
  return { chain: { count, start, hash: textIn(fields, 'hash') } };
}

function originOf(value: JsonValue | undefined): SessionInfo['origin'] {
  if (value === undefined) return undefined;
  const fields = objectIn(value, 'origin');
  return { session: sessionId(textIn(fields, 'session')), through: countIn(fields, 'through') };
}

/** Parses the holes. They must be sorted and must not be adjacent. */
function holesOf(value: JsonValue | undefined, through: number): readonly Hole[] {
  if (!Array.isArray(value)) throw new BadLineError('holes is not an array');
  let least = 1;
  return value.map((hole): Hole => {
    const [first, last, ...more] = Array.isArray(hole) ? hole : [];
    const isPair = Number.isSafeInteger(first) && Number.isSafeInteger(last) && more.length === 0;
    const [from, to] = [Number(first), Number(last)];
    if (!isPair || from < least || to < from || to > through)
      throw new BadLineError(
        'holes must be pairs of offsets, sorted and not after the last offset',
      );
    // The next hole cannot start directly after this hole, because a record must be between them.
    least = to + 2;
    return [from, to];
  });
}
