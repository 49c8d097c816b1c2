import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type LogRecord, type SessionId, toBase64 } from '@millrace/core';
import { type Log, readRecords } from '@millrace/log';
import { secretMasks } from '@millrace/tools';
import { UsageError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { isInClone, pageFolder } from '../package-files.ts';
import { findChildSessions } from '../store/child-sessions.ts';
import { maskedRecords, maskText } from './masked-records.ts';

export interface HtmlExportOptions {
  /** The environment. The values of variables that look like secrets are masked in the file. */
  readonly env: Env;
  /** The folder of the built web page. Default: that of this program. */
  readonly page?: string | undefined;
  /** The maximum size of the records and attachments, in bytes. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
}

const defaultMaxBytes = 64 * 2 ** 20;
const place = '%RECORDS%';

/**
 * Returns sessions as one HTML document that replays them without a server. The data of the sessions is
 * compressed and encoded in base64, so no text of a session can become a part of the document. Keys are
 * masked, because the file is for other people.
 */
export async function exportHtml(
  log: Log,
  sessions: Iterable<SessionId>,
  { env, page = pageFolder(), maxBytes = defaultMaxBytes }: HtmlExportOptions,
): Promise<string> {
  const template = page && (await readFile(join(page, 'replay.html'), 'utf8').catch(() => ''));
  if (!template?.includes(place)) throw noPageError();
  const newMask = secretMasks(env);
  const lines = new BoundedLines(maxBytes);
  const written = new Set<SessionId>();
  const blobs = new Set<string>();
  for (const session of sessions)
    for (const one of [session, ...(await findChildSessions(log, session))]) {
      if (written.has(one)) continue;
      written.add(one);
      lines.add(JSON.stringify({ session: one }));
      const records = await readAll(log, one, lines);
      for (const hash of records.flatMap(shownBlobs)) blobs.add(hash);
      for (const line of maskedRecords(records, newMask)) lines.add(line);
    }
  for (const blob of blobs) {
    const bytes = await log.blobs.get(blob);
    if (bytes === undefined) continue;
    lines.add(JSON.stringify({ blob, bytes: toBase64(masked(bytes, newMask)) }));
  }
  const data = await promisify(gzip)(lines.text());
  return template.replace(place, () => data.toString('base64'));
}

/** Lines with a limit for their total size. */
class BoundedLines {
  readonly #lines: string[] = [];
  readonly #maxBytes: number;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(line: string): void {
    this.#lines.push(line);
    this.#bytes += Buffer.byteLength(line) + 1;
    this.assertFits(0);
  }

  /** Throws if the lines would exceed the limit with so many further bytes. */
  assertFits(bytes: number): void {
    if (this.#bytes + bytes <= this.#maxBytes) return;
    const limit = `${Math.round(this.#maxBytes / 2 ** 20)} MiB`;
    throw new UsageError(
      `Cannot export as HTML: the records and attachments are larger than ${limit}, and a browser must hold all of them. Export to a file that ends in .jsonl instead`,
    );
  }

  text(): string {
    return this.#lines.join('\n');
  }
}

/** Reads the records of a session. It stops early if they do not fit into the file. */
async function readAll(
  log: Log,
  session: SessionId,
  lines: BoundedLines,
): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const record of readRecords(log, session)) {
    records.push(record);
    // Each record has more bytes than this in its encoded form.
    lines.assertFits(records.length * minRecordBytes);
  }
  return records;
}

const minRecordBytes = 40;

/**
 * Returns the blobs that a record shows. A record of a changed file also names blobs, with the earlier content
 * of the file. The replay does not show them, so the file does not contain them.
 */
function shownBlobs({ delta, fact }: LogRecord): readonly string[] {
  const committed = delta?.type === 'commit_part' && delta.part ? [delta.part] : [];
  const settled =
    fact?.type === 'snapshot'
      ? fact.items.flatMap(({ parts }) => parts.map(({ part }) => part))
      : [];
  return [...committed, ...settled].flatMap((part) => {
    const files = part.kind === 'tool_result' ? (part.attachments ?? []) : [part];
    return files.flatMap((file) =>
      'source' in file && file.source.type === 'blob' ? [file.source.hash] : [],
    );
  });
}

/** Masks keys in an attachment that is a text. Other attachments do not change. */
function masked(bytes: Uint8Array, newMask: Parameters<typeof maskText>[1]): Uint8Array {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return Buffer.from(maskText(text, newMask));
  } catch {
    return bytes;
  }
}

function noPageError(): UsageError {
  const way = isInClone()
    ? 'Build it in the clone: npm run build:all'
    : 'The package @millrace/cli is not complete. Install it again: npm install @millrace/cli';
  return new UsageError(
    `Cannot export as HTML: replay.html, the document that replays sessions, is missing. ${way}. Or export to a file that ends in .jsonl`,
  );
}
