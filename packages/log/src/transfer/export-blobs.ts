import { type SessionId, toBase64 } from '@millrace/core';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { usedBlobs } from '../shelf/used-blobs.ts';
import { storedSession } from './stored-session.ts';

/** Of one line, so that no line is long however large a blob is. */
const pieceBytes = 3 * 2 ** 18;

/** The blobs that a session refers to, as lines of JSON: each blob one line or several, in base64. */
export async function* exportBlobs(log: Log, session: SessionId): AsyncGenerator<string> {
  const { records } = await storedSession(log, session);
  for (const hash of new Set(usedBlobs(records))) {
    const bytes = await log.blobs.get(hash);
    if (bytes === undefined) throw missing(session, hash);
    yield* pieces(hash, bytes);
  }
}

function* pieces(hash: string, bytes: Uint8Array): Generator<string> {
  const { length } = bytes;
  for (let at = 0; at === 0 || at < length; at += pieceBytes) {
    const piece = toBase64(bytes.subarray(at, at + pieceBytes));
    yield JSON.stringify({ hash, length, at, bytes: piece });
  }
}

function missing(session: SessionId, hash: string): LogError {
  const message = `Cannot export blob ${hash} of session ${session}: the store does not have it. Restore a backup`;
  return new LogError('corrupt', message, { session, hash });
}
