import { resolve } from 'node:path';
import { isMillraceError } from '@millrace/core';
import {
  type ChainProblem,
  type ChainReport,
  type ExportReport,
  type SignedHead,
  type VerifyOptions,
  verifyExport,
} from '@millrace/log';
import { readPieces } from '../safe-files.ts';
import {
  isBlob,
  isHeader,
  isRecord,
  LineCursor,
  readError,
  readLines,
  withFileLines,
} from '../sessions/export-lines.ts';

/** The report about one session of a file. */
export interface VerifiedPart {
  /** The path of the file. If the file has several sessions, also the id of the session. */
  readonly name: string;
  readonly session: string | undefined;
  readonly file: string;
  readonly report: ChainReport;
}

/**
 * Verifies a file of `millrace sessions export`. The file can contain several sessions, each with its blobs. If there
 * are several, each signed head must be in the session that it names.
 */
export async function verifyFile(
  file: string,
  cwd: string,
  { heads = [], publicKey }: VerifyOptions,
): Promise<readonly VerifiedPart[]> {
  const path = resolve(cwd, file);
  const sessions = heads.length === 0 ? [] : await sessionsIn(path, file);
  const headsOf = (at: number): readonly SignedHead[] =>
    sessions.length < 2 ? heads : heads.filter(({ session }) => session === sessions[at]);
  const parts: { readonly session: string | undefined; readonly report: ChainReport }[] = [];
  const cursor = cursorOf(path);
  try {
    while (parts.length === 0 || (await cursor.peek()) !== undefined) {
      const before = cursor.number;
      const checks = { heads: headsOf(parts.length), publicKey };
      const found = await withFileLines(cursor, () => verifyExport(partLines(cursor), checks));
      parts.push({ session: found.session, report: inFile(found, before) });
    }
  } catch (error) {
    // The rest of the file cannot be read, but the report of the sessions before it is useful.
    if (!isMillraceError(error)) throw readError(file, error);
    parts.push({ session: undefined, report: failed([{ message: error.message }]) });
  }
  const isSingle = parts.length === 1;
  const lost = sessions.length < 2 ? [] : heads.filter((head) => !sessions.includes(head.session));
  const all =
    lost.length === 0
      ? parts
      : [...parts, { session: undefined, report: failed(lost.map(lostHead)) }];
  return all.map(({ session, report }) => {
    const name = isSingle || session === undefined ? file : `${file}, session ${session}`;
    return { name, session, file, report };
  });
}

function cursorOf(path: string): LineCursor {
  return new LineCursor(readLines(readPieces(path)));
}

/** Returns the ids of the sessions in a file, in order. */
async function sessionsIn(path: string, file: string): Promise<readonly string[]> {
  const ids: string[] = [];
  try {
    for await (const line of readLines(readPieces(path))) if (isHeader(line)) ids.push(idIn(line));
  } catch (error) {
    // The verification reports a file that is not text.
    if (!isMillraceError(error)) throw readError(file, error);
  }
  return ids;
}

function idIn(header: string): string {
  try {
    const { session } = JSON.parse(header) as { readonly session?: unknown };
    return typeof session === 'string' ? session : '';
  } catch {
    return '';
  }
}

/** Yields the lines of the next session: its blobs, its header and its records. */
function partLines(cursor: LineCursor): AsyncGenerator<string> {
  let isInBlobs = true;
  return cursor.takeWhile((line) => {
    if (!isInBlobs) return isRecord(line);
    isInBlobs = isBlob(line);
    return true;
  });
}

/** Returns the report with line numbers of the file. The file must also contain the blobs of its sessions. */
function inFile({ missingBlobs, ...report }: ExportReport, before: number): ChainReport {
  const problems = [
    ...report.problems.map((problem) =>
      problem.line === undefined ? problem : { ...problem, line: before + problem.line },
    ),
    ...missingBlobs.map((hash) => ({ message: `the blob ${hash} is missing` })),
  ];
  return { ...report, problems, isValid: problems.length === 0 };
}

function failed(problems: readonly ChainProblem[]): ChainReport {
  return { isValid: false, chain: undefined, through: 0, problems, rewrites: [] };
}

function lostHead({ session }: SignedHead): ChainProblem {
  return { message: `the file does not contain session ${session} of a signed head` };
}
