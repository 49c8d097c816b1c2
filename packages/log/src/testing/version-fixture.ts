import { hash as digest } from 'node:crypto';
import { itemId, sessionId } from '@millrace/core';
import type { Log } from '../contract/log.ts';
import {
  answer,
  fact,
  markers,
  runFinished,
  runStarted,
  turnFinished,
  turnStarted,
  wholeItem,
  wholeTurn,
} from '../suite/drafts.ts';
import { exportSession } from '../transfer/export-session.ts';

/** The content of a stored log as plain data: each session's info and records, and the blobs. */
export interface LogContents {
  readonly sessions: Readonly<Record<string, SessionContents>>;
  /** The bytes of each blob by its hash. */
  readonly blobs: Readonly<Record<string, readonly number[]>>;
}

interface SessionContents {
  readonly hasWork: boolean;
  readonly isClosed: boolean;
  readonly holder: string | null;
  readonly lines: readonly string[];
}

const blobBytes = Uint8Array.from({ length: 300 }, (_, index) => index % 256);

/**
 * Writes a log that uses every table. It contains streamed and settled turns, a redaction, a fork, a blob,
 * queued and consumed commands, an admitted producer, a lease, a closed session and a deleted one. The
 * fixtures of earlier schema versions were created with this function.
 */
export async function writeFixture(log: Log): Promise<void> {
  const chat = await log.open('chat', {
    holder: 'fixture',
    leaseMs: Number.POSITIVE_INFINITY,
    isDetached: true,
  });
  const { hash, length } = await log.blobs.put(blobBytes);
  const picture = {
    kind: 'media',
    mimeType: 'image/png',
    source: { type: 'blob', hash, length },
  } as const;
  await chat.append([...wholeItem('question', { kind: 'text', text: 'What is in the picture?' })]);
  await chat.append([...wholeItem('picture', picture)]);
  await chat.append([...wholeItem('secret', { kind: 'text', text: 'a password' })]);
  await chat.append([runStarted, turnStarted(1)]);
  for (const draft of answer(1, ['A millrace ', '🌊 with ', 'water.'])) await chat.append([draft]);
  await chat.append([turnFinished(1), runFinished]);
  await log.fork('chat', { into: 'chat fork', through: 6 });
  await log.settle('chat', 1);
  await log.redact('chat', itemId('secret'), 'private');
  await log.submit('chat', { type: 'message', text: 'And now?' }, 'key 1');
  await log.submit('chat', { type: 'abort' }, 'key 2');
  await chat.append([fact({ type: 'command_consumed', key: 'key 1' }), turnStarted(2)]);
  const admission = await chat.admit({ for: 'request', turn: 2 });
  const producer = await log.produce(admission);
  const [start, begin] = answer(2, ['half']);
  if (start !== undefined && begin !== undefined) await producer.append([start, begin], 1);
  chat.detach();
  const closed = await log.open('closed');
  await closed.append([...wholeTurn(1, ['one', 'two']), ...markers(300)]);
  await closed.closeSession();
  await (await log.open('deleted')).append(markers(2));
  await log.delete('deleted');
}

/** Returns a blob of 1,000,000 bytes. Later versions store it in pieces. */
export function longBlob(): { readonly hash: string; readonly bytes: Buffer } {
  const bytes = Buffer.alloc(1_000_000, 'a millrace leads water to the wheel ');
  return { hash: digest('sha256', bytes), bytes };
}

/** Reads everything that `writeFixture` wrote. */
export async function readContents(log: Log): Promise<LogContents> {
  const sessions: Record<string, SessionContents> = {};
  const blobs: Record<string, readonly number[]> = {};
  for (const { session, hasWork, isClosed, lease } of await log.list()) {
    const lines: string[] = [];
    for await (const line of exportSession(log, sessionId(session))) lines.push(line);
    sessions[session] = { hasWork, isClosed, holder: lease?.holder ?? null, lines };
    for (const [, hash] of lines.join('\n').matchAll(/"hash":"([0-9a-f]{64})"/g))
      if (hash !== undefined) blobs[hash] = [...((await log.blobs.get(hash)) ?? [])];
  }
  return { sessions, blobs };
}
