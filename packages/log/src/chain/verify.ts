import { decodeRecord, encodeRecord, type LogRecord, sessionId } from '@millrace/core';
import { readWholeSession, requireSessionInfo } from '../any-log/read-session.ts';
import type { Log } from '../contract/log.ts';
import { LogError } from '../contract/log-error.ts';
import { asLine } from '../transfer/export-session.ts';
import { type LineSource, readLines } from '../transfer/lines.ts';
import { decodeHeader, type SessionHeader } from '../transfer/session-header.ts';
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
    return report({ records, chain, through }, options);
  }
  const message = `Cannot verify session ${session}: it changed during each of ${maxReads} reads. Stop its writer first`;
  throw new LogError('held', message, { session: id });
}

/**
 * Verifies the lines of `exportSession`, without a log. It also detects a line that has another text for the
 * same record. The header's times, its origin and `isClosed` are not covered.
 */
export async function verifyExport(
  lines: LineSource,
  options: VerifyOptions = {},
): Promise<ChainReport> {
  const records: LogRecord[] = [];
  const changed: ChainProblem[] = [];
  let header: SessionHeader | undefined;
  await readLines(lines, 'a session', async (line) => {
    if (header === undefined) {
      header = decodeHeader(line);
      return;
    }
    const record = decodeRecord(line);
    if (asLine(encodeRecord(record)) !== line)
      changed.push({
        message: `the line of offset ${record.offset} has changed`,
        offsets: [record.offset, record.offset],
      });
    records.push(record);
  });
  const { chain, through = 0 } = header ?? {};
  const found = await report({ records, chain, through }, options);
  return changed.length === 0
    ? found
    : { ...found, isValid: false, problems: [...changed, ...found.problems] };
}

async function report(
  { records, chain, through }: Omit<ChainedRecords, 'chain'> & Pick<ChainReport, 'chain'>,
  options: VerifyOptions,
): Promise<ChainReport> {
  if (chain === undefined) {
    const links = records.some((record) => record.links !== undefined);
    const message = links ? 'the end of the chain is missing' : 'the session has no hash chain';
    return { isValid: false, chain, through, problems: [{ message }], rewrites: [] };
  }
  const { hashes, ...checked } = checkChain({ records, chain, through });
  const problems = [...checked.problems, ...(await headProblems(hashes, chain.start, options))];
  const { heads = [] } = options;
  const last = heads.toSorted((a, b) => a.count - b.count).at(-1);
  const unproven = last === undefined ? [] : rewrittenAfter(checked.rewrites, last);
  return {
    ...{ ...checked, problems, isValid: problems.length === 0 },
    ...(unproven.length > 0 && { unproven }),
  };
}

/** Returns a problem for each head that the chain does not contain. */
async function headProblems(
  hashes: CheckedChain['hashes'],
  start: number,
  { heads = [], publicKey }: VerifyOptions,
): Promise<readonly ChainProblem[]> {
  const problems: ChainProblem[] = [];
  for (const head of heads) {
    if (publicKey === undefined)
      throw new LogError('bad_option', 'Cannot verify a signed head without the option publicKey');
    const { count, through, session } = head;
    const offsets = [1, through] as const;
    const name = `the signed head of session ${session} with link ${count}`;
    if (!(await isSignedBy(head, publicKey)))
      problems.push({ message: `${name} has a wrong signature`, offsets });
    else if (hashes.length < count)
      problems.push({
        message: `${name} is later than the chain, which has ${hashes.length} links`,
        offsets,
      });
    else if (hashes[count - 1] !== head.hash || head.start !== start)
      problems.push({
        message: `${name} is not in the chain: earlier records were changed`,
        offsets,
      });
  }
  return problems;
}
