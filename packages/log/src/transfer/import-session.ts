import { decodeRecord, type LogRecord, type SessionId } from '@millrace/core';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import type { SessionInfo } from '../contract/session-info.ts';
import { usedBlobs } from '../shelf/used-blobs.ts';
import { BadLine } from './bad-line.ts';
import { badLine, type Lines, readLines } from './read-lines.ts';
import { RecordCheck } from './record-check.ts';
import { decodeHeader, type SessionHeader } from './session-header.ts';

export interface ImportOptions {
  /** The session that it becomes; the one that it was, unless told. */
  readonly into?: SessionId | undefined;
}

/**
 * Makes a session of what `exportSession` gave. Every record is checked as if it were just written,
 * and nothing is there until all of them were: an error names the line, and leaves the log as it was.
 * The blobs that it refers to have to be there: `importBlobs`.
 *
 * @example
 * await importBlobs(log, createInterface({ input: createReadStream('session.blobs.jsonl') }));
 * await importSession(log, createInterface({ input: createReadStream('session.jsonl') }));
 */
export async function importSession(
  log: Log,
  lines: Lines,
  { into }: ImportOptions = {},
): Promise<SessionInfo> {
  const reader = new SessionReader(log, into);
  const last = await readLines(lines, 'a session', (line) => reader.take(line));
  const { session, header, records } = reader.end(last + 1);
  await assertBlobs(log, reader.blobs);
  const { createdAt, changedAt, isClosed, origin, through } = header;
  return log.restore(session, records, { createdAt, changedAt, isClosed, origin, through });
}

interface Begun {
  readonly session: SessionId;
  readonly header: SessionHeader;
  readonly check: RecordCheck;
}

class SessionReader {
  /** Each with the line that refers to it first. */
  readonly blobs = new Map<string, number>();
  readonly #log: Log;
  readonly #into: SessionId | undefined;
  readonly #records: LogRecord[] = [];
  #begun: Begun | undefined;

  constructor(log: Log, into: SessionId | undefined) {
    this.#log = log;
    this.#into = into;
  }

  async take(line: string): Promise<void> {
    if (this.#begun === undefined) return this.#begin(line);
    const record = decodeRecord(line);
    this.#begun.check.take(record);
    this.#records.push(record);
    for (const hash of usedBlobs([record]))
      if (!this.blobs.has(hash)) this.blobs.set(hash, this.#records.length + 1);
  }

  /** `line` is the one that is not there any more. */
  end(line: number) {
    try {
      if (this.#begun === undefined) throw new BadLine('the file is empty');
      this.#begun.check.end();
      return { ...this.#begun, records: this.#records };
    } catch (error) {
      throw badLine(error, line, 'a session');
    }
  }

  async #begin(line: string): Promise<void> {
    const header = decodeHeader(line);
    const session = this.#into ?? header.session;
    // Told before the whole file is read; that there is still none is seen to when it is stored.
    if ((await this.#log.info(session)) !== undefined) throw exists(session);
    this.#begun = { session, header, check: new RecordCheck(session, header) };
  }
}

async function assertBlobs(log: Log, blobs: ReadonlyMap<string, number>): Promise<void> {
  for (const [hash, line] of blobs) {
    if ((await log.blobs.slice(hash, 0, 0)) !== undefined) continue;
    const why = new BadLine(`its blob ${hash} is not there; import the blobs first`);
    throw badLine(why, line, 'a session');
  }
}

function exists(session: SessionId): LogError {
  const message = `Cannot import session ${session}: there is one. Import it into another, or delete that one`;
  return new LogError('session_exists', message, { session });
}
