import { decodeRecord, encodeRecord, type LogRecord, sessionId } from '@millrace/core';
import { readWholeSession, requireSessionInfo } from '../any-log/read-session.ts';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { referencedBlobs } from '../storage/blob-references.ts';
import { asLine } from '../transfer/export-session.ts';
import { isAboutLine, type LineSource, toImportError } from '../transfer/lines.ts';
import { decodeHeader, type SessionHeader } from '../transfer/session-header.ts';
import { BlobReader, isBlobLine } from '../transfer/transfer-blobs.ts';
import {
  type ChainedRecords,
  type ChainProblem,
  type ChainReport,
  type CheckedChain,
  checkChain,
  rewrittenAfter,
} from './check-chain.ts';
import { type Ed25519Key, isSignedBy, type SignedHead } from './signed-head.ts';

/** Options of `verifySession` and `verifyExport`. */
export interface VerifyOptions {
  /** Signed heads that the chain must contain. Default: none. */
  readonly heads?: readonly SignedHead[] | undefined;
  /** The public Ed25519 key of the heads. It is required if there are heads. Default: none. */
  readonly publicKey?: Ed25519Key | undefined;
}

/**
 * Maximum number of reads of a session that changes all the time. A session must not change between the read
 * of its chain and the read of its records.
 */
const maxReads = 20;

/**
 * Verifies the hash chain of a session: no record was changed, removed, doubled or moved. Without a signed
 * head, it detects only accidents, because a person who can write to the store can compute a new chain. With a
 * head, `unproven` has the offsets that were settled, redacted or imported after the signature: the head does
 * not prove their content. It reads all records of the session into memory.
 *
 * @example const { isValid, problems } = await verifySession(log, 'support-42', { heads: [head], publicKey });
 */
export async function verifySession(
  log: Log,
  session: string,
  options: VerifyOptions = {},
): Promise<ChainReport> {
  const id = sessionId(session);
  for (let reads = 0; reads < maxReads; reads++) {
    const { info, records } = await readWholeSession(log, id);
    const { chain, through } = await requireSessionInfo(log, id);
    if (chain?.hash !== info.chain?.hash || through !== info.through) continue;
    return report({ session, records, chain, through }, options);
  }
  const message = `Cannot verify session ${session}: it changed during each of ${maxReads} reads. Stop its writer first`;
  throw new LogError('held', message, { session: id });
}

/** The result of `verifyExport`. */
export interface ExportReport extends ChainReport {
  /** The id of the session. Undefined if the header is missing or not readable. */
  readonly session: string | undefined;
  /**
   * The hashes of the blobs that the records reference, and that the lines do not contain. They are not a problem
   * if you stored the lines of `exportBlobs` elsewhere.
   */
  readonly missingBlobs: readonly string[];
}

/**
 * Verifies the lines of `exportSession`, without a log. The lines of `exportBlobs` may precede them. Then it checks
 * the hashes of these blobs too. It also detects a line that has another text for the same record or blob. A line
 * that is not readable is a problem of the report. The header's times, its origin and `isClosed` are not covered.
 */
export async function verifyExport(
  lines: LineSource,
  options: VerifyOptions = {},
): Promise<ExportReport> {
  const reader = new ExportReader();
  for await (const line of typeof lines === 'string' ? lines.split('\n') : lines)
    await reader.take(line);
  const { header, records, problems, missingBlobs } = reader.end();
  const { session, chain, through = 0 } = header ?? {};
  const found =
    header === undefined
      ? { isValid: false, chain, through, problems: [], rewrites: [] }
      : await report({ session: header.session, records, chain, through }, options);
  const all = [...problems, ...found.problems];
  return { session, ...found, isValid: all.length === 0, problems: all, missingBlobs };
}

/** Maximum number of wrong lines that a report names. */
const maxWrongLines = 100;

/** Reads the lines of one exported session. It collects what is wrong with single lines. */
class ExportReader {
  readonly #records: LogRecord[] = [];
  readonly #problems: ChainProblem[] = [];
  readonly #reader = new BlobReader({ isExact: true });
  readonly #blobs = new Set<string>();
  #header: SessionHeader | undefined;
  #isInBlobs = true;
  #line = 0;
  #emptyAt: number | undefined;

  async take(line: string): Promise<void> {
    this.#line++;
    // Empty lines are allowed at the end.
    if (line.trim() === '') {
      this.#emptyAt ??= this.#line;
      return;
    }
    if (this.#emptyAt !== undefined) this.#report('the line is empty', { line: this.#emptyAt });
    this.#emptyAt = undefined;
    try {
      await this.#read(line);
    } catch (error) {
      // A file of a later version cannot be judged.
      if (!isAboutLine(error) || error.code === 'too_new' || error.code === 'unsupported_version')
        throw toImportError(error, this.#line, 'an export');
      this.#report(`the line is not readable: ${error.message}`, { line: this.#line });
    }
  }

  /** Returns what was read. */
  end() {
    if (this.#isInBlobs) this.#report('there is no session');
    if (this.#reader.isInside) this.#report('the lines end inside a blob');
    const [first, ...others] = this.#problems;
    const isReadable = this.#header !== undefined || this.#records.length + this.#blobs.size > 0;
    if (first !== undefined && others.length > 0 && !isReadable) {
      const message = `this is not an export of a session: no line is readable (line ${first.line}: ${first.message})`;
      this.#problems.splice(0, this.#problems.length, { message });
    }
    const referenced = new Set(referencedBlobs(this.#records));
    for (const hash of this.#blobs)
      if (!referenced.has(hash)) this.#report(`the session does not have the blob ${hash}`);
    return {
      header: this.#header,
      records: this.#records,
      problems: this.#problems,
      missingBlobs: [...referenced].filter((hash) => !this.#blobs.has(hash)),
    };
  }

  async #read(line: string): Promise<void> {
    if (this.#isInBlobs) {
      if (isBlobLine(line)) return this.#readBlob(line);
      this.#isInBlobs = false;
      this.#header = decodeHeader(line);
      return;
    }
    const { record, problem } = readRecordLine(line);
    this.#records.push(record);
    if (problem !== undefined) {
      const { message, ...place } = problem;
      this.#report(message, { ...place, line: this.#line });
    }
  }

  async #readBlob(line: string): Promise<void> {
    const blob = await this.#reader.take(line);
    if (blob === undefined) return;
    if (this.#blobs.has(blob.hash))
      this.#report(`the blob ${blob.hash} occurs twice`, { line: this.#line });
    this.#blobs.add(blob.hash);
  }

  #report(message: string, place: Omit<ChainProblem, 'message'> = {}): void {
    if (this.#problems.length < maxWrongLines) this.#problems.push({ message, ...place });
  }
}

/** The record of an exported line, and a problem if the line has another text for the same record. */
interface RecordLine {
  readonly record: LogRecord;
  readonly problem?: ChainProblem | undefined;
}

/** Reads the line of a record. Throws if the line is not a record. */
export function readRecordLine(line: string): RecordLine {
  const record = decodeRecord(line);
  if (asLine(encodeRecord(record)) === line) return { record };
  const { offset } = record;
  const message = `the line of offset ${offset} has changed`;
  return { record, problem: { message, offsets: [offset, offset] } };
}

interface ReportedSession extends Omit<ChainedRecords, 'chain'>, Pick<ChainReport, 'chain'> {
  readonly session: string;
}

async function report(
  { session, records, chain, through }: ReportedSession,
  options: VerifyOptions,
): Promise<ChainReport> {
  if (chain === undefined) {
    const links = records.some((record) => record.links !== undefined);
    const message = links ? 'the end of the chain is missing' : 'the session has no hash chain';
    return { isValid: false, chain, through, problems: [{ message }], rewrites: [] };
  }
  const { hashes, ...checked } = checkChain({ records, chain, through });
  const problems = [
    ...checked.problems,
    ...(await headProblems({ session, hashes, start: chain.start }, options)),
  ];
  const { heads = [] } = options;
  const last = heads.toSorted((a, b) => a.count - b.count).at(-1);
  const unproven = last === undefined ? [] : rewrittenAfter(checked.rewrites, last);
  return {
    ...{ ...checked, problems, isValid: problems.length === 0 },
    ...(unproven.length > 0 && { unproven }),
  };
}

interface HeadTarget extends Pick<CheckedChain, 'hashes'> {
  readonly session: string;
  readonly start: number;
}

/** Returns a problem for each head that the chain does not contain. */
async function headProblems(
  { session, hashes, start }: HeadTarget,
  { heads = [], publicKey }: VerifyOptions,
): Promise<readonly ChainProblem[]> {
  const problems: ChainProblem[] = [];
  for (const head of heads) {
    if (publicKey === undefined)
      throw new LogError('bad_option', 'Cannot verify a signed head without the option publicKey');
    const { count, through } = head;
    const offsets = [1, through] as const;
    const name = `the signed head of session ${head.session} with link ${count}`;
    if (!(await isSignedBy(head, publicKey)))
      problems.push({ message: `${name} has a wrong signature`, offsets });
    else if (hashes[count - 1] === head.hash && head.start === start) continue;
    // An imported session can have another id and the same chain. Another id alone is therefore not a problem.
    else if (head.session !== session)
      problems.push({
        message: `${name} belongs to another session, not to session ${session}`,
        offsets,
      });
    else if (hashes.length < count)
      problems.push({
        message: `${name} is later than the chain, which has ${hashes.length} links`,
        offsets,
      });
    else
      problems.push({
        message: `${name} is not in the chain: earlier records were changed`,
        offsets,
      });
  }
  return problems;
}
