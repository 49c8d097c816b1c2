import { decodeRecord, fromBase64, type LogRecord } from '@millrace/core';

/** A session in an exported file. */
interface RecordedSession {
  readonly id: string;
  /** The first words of the first message, as the name of the session. */
  readonly title: string;
  readonly records: readonly LogRecord[];
}

/** The content of an exported file: a session with the sessions of its sub-agents, and their attachments. */
export interface Recording {
  readonly sessions: readonly RecordedSession[];
  /** Returns the bytes of an attachment. */
  blob(hash: string): Promise<Blob>;
}

/**
 * Reads the data of an exported file. The data is compressed and encoded in base64. Each of its lines is one
 * JSON document: the start of a session, a record of this session, or an attachment.
 */
export async function readRecording(data: string): Promise<Recording> {
  const stream = new Blob([bytesOf(data.trim())])
    .stream()
    .pipeThrough(new DecompressionStream('gzip'));
  const sessions: { readonly id: string; readonly records: LogRecord[] }[] = [];
  const blobs = new Map<string, string>();
  for (const line of (await new Response(stream).text()).split('\n')) {
    if (line.startsWith('{"session":')) {
      const { session } = JSON.parse(line) as { readonly session: string };
      sessions.push({ id: session, records: [] });
    } else if (line.startsWith('{"blob":')) {
      const { blob, bytes } = JSON.parse(line) as { readonly blob: string; readonly bytes: string };
      blobs.set(blob, bytes);
    } else if (line !== '') {
      sessions.at(-1)?.records.push(decodeRecord(line));
    }
  }
  return {
    sessions: sessions.map(({ id, records }) => ({ id, records, title: titleOf(records) ?? id })),
    async blob(hash) {
      const bytes = blobs.get(hash);
      if (bytes === undefined) throw new Error('The file does not contain this attachment');
      return new Blob([bytesOf(bytes)]);
    },
  };
}

/** Decodes base64 into a new `ArrayBuffer`. The types of `Blob` do not accept a buffer that may be shared. */
function bytesOf(base64: string): ArrayBuffer {
  const bytes = fromBase64(base64);
  if (bytes === undefined) throw new Error('The data is not base64');
  return new Uint8Array(bytes).buffer;
}

const maxTitleLength = 80;

function titleOf(records: readonly LogRecord[]): string | undefined {
  const users = new Set<string>();
  for (const { fact, delta } of records) {
    if (fact?.type === 'item_started' && fact.kind === 'user') users.add(fact.itemId);
    if (delta?.type !== 'commit_part' || delta.part === undefined) continue;
    if (delta.part.kind !== 'text') continue;
    const text = delta.part.text.trim().replaceAll(/\s+/g, ' ');
    if (users.has(delta.itemId) && text !== '') return shortened(text);
  }
  return undefined;
}

function shortened(text: string): string {
  return text.length > maxTitleLength ? `${text.slice(0, maxTitleLength)}…` : text;
}
