import { createPrivateKey, createPublicKey } from 'node:crypto';
import { resolve } from 'node:path';
import {
  type ChainReport,
  type ChainRewrite,
  type Ed25519Key,
  parseHead,
  type SignedHead,
  signHead,
  type VerifyOptions,
  verifySession,
} from '@millrace/log';
import { shellQuote } from '../args/command-hint.ts';
import type { VerifyArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import { exitCodes } from '../exit-code.ts';
import { Output } from '../print/output.ts';
import { countOf } from '../print/text-table.ts';
import { readText } from '../safe-files.ts';
import { type StoreCommandOptions, withStore } from '../store/open-store.ts';
import { findSession } from '../store/session-summaries.ts';
import { addFileAdvice, fileExists, namesFile } from '../store/unknown-operand.ts';
import { verifyFile } from './verify-file.ts';

/**
 * Runs `millrace verify`. It checks the hash chains of sessions and of exported files. With `--sign`, it prints
 * the signed end of a valid chain.
 */
export async function verifyCommand(options: StoreCommandOptions<VerifyArgs>): Promise<number> {
  const { args, stdout, stderr, cwd } = options;
  const output = new Output(stdout);
  const notes = new Output(stderr, { name: 'standard error' });
  const checks = await verifyOptions(args, cwd);
  let code: number = exitCodes.done;
  for (const operand of args.operands) {
    const isFile = namesFile(operand) && (await fileExists(resolve(cwd, operand)));
    const all: readonly Verified[] = isFile
      ? await verifyFile(operand, cwd, checks)
      : [await verifyStored(operand, options, checks)];
    for (const verified of all) {
      const { name, session, file, report, head } = verified;
      if (!report.isValid) code = exitCodes.error;
      const text = args.json
        ? `${JSON.stringify({ session, file, ...report })}\n`
        : `${reportLines(name, report).join('\n')}\n`;
      if (args.sign === undefined) await (args.json ? output.writeData(text) : output.write(text));
      else await notes.write(text);
      if (head !== undefined) await output.writeData(`${JSON.stringify(head)}\n`);
    }
  }
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return code;
}

interface Verified {
  /** The session, or the file, or both if the file has several sessions. */
  readonly name: string;
  readonly session: string | undefined;
  /** The path of the file, as the user named it. Undefined for a session of the store. */
  readonly file?: string | undefined;
  readonly report: ChainReport;
  readonly head?: SignedHead | undefined;
}

async function verifyStored(
  operand: string,
  options: StoreCommandOptions<VerifyArgs>,
  checks: VerifyOptions,
): Promise<Verified> {
  const { args, cwd } = options;
  return withStore(options, async ({ log }) => {
    const { id } = await findSession(log, operand, { cwd, flags: args }).catch(
      async (error: unknown) => {
        const path = shellQuote(`./${operand}`);
        const ofFile = `To verify the file of that name: millrace verify ${path}`;
        throw await addFileAdvice(error, { operand, cwd, ofFile });
      },
    );
    const report = await verifySession(log, id, checks);
    const found = { name: id, session: id, report };
    if (args.sign === undefined || !report.isValid) return found;
    const key = await readKey(resolve(cwd, args.sign), 'private');
    return { ...found, head: await signHead(log, id, key) };
  });
}

async function verifyOptions({ heads, key }: VerifyArgs, cwd: string): Promise<VerifyOptions> {
  if (key === undefined) return {};
  const texts = heads.map(async (path) => parseHead(await readText(resolve(cwd, path))));
  const publicKey = await readKey(resolve(cwd, key), 'public');
  return { heads: await Promise.all(texts), publicKey };
}

/** Reads an Ed25519 key in the format PEM. */
async function readKey(path: string, type: 'private' | 'public'): Promise<Ed25519Key> {
  const pem = await readText(path);
  try {
    const [bytes, format] =
      type === 'private'
        ? ([createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' }), 'pkcs8'] as const)
        : ([createPublicKey(pem).export({ type: 'spki', format: 'der' }), 'spki'] as const);
    const usage = type === 'private' ? 'sign' : 'verify';
    return await crypto.subtle.importKey(format, new Uint8Array(bytes), 'Ed25519', false, [usage]);
  } catch (cause) {
    throw notAKey(path, type, cause);
  }
}

function notAKey(path: string, type: string, cause: unknown): UsageError {
  const message = `${path} is not a ${type} Ed25519 key in the format PEM`;
  return new UsageError(message, { path }, { cause });
}

function reportLines(name: string, report: ChainReport): readonly string[] {
  const { isValid, chain, through, problems, rewrites, unproven = [], uncovered, origin } = report;
  const size = `${countOf(chain?.count ?? 0, 'link')}, through offset ${through}`;
  return [
    isValid
      ? `${name}: verified${exceptText(unproven)} (${size})`
      : `${name}: NOT VERIFIED (${size})`,
    ...problems.map(({ message, offsets, line }) => {
      const place = offsets === undefined ? '' : ` (offsets ${offsets.join(' to ')})`;
      return `  ${line === undefined ? '' : `line ${line}: `}${message}${place}`;
    }),
    ...(chain === undefined && problems.some(({ message }) => message === noChain)
      ? [`  ${chainAdvice}`]
      : []),
    ...rewrites.map((rewrite) => `  ${rewriteText(rewrite)}`),
    ...(uncovered === undefined
      ? []
      : [`  not covered: offsets ${uncovered.join(' to ')}, from before the chain started`]),
    ...(origin === undefined
      ? []
      : [`  copied from session ${origin.session} through offset ${origin.through}`]),
  ];
}

/** The problem of a session that was recorded without a chain. */
const noChain = 'the session has no hash chain';
const chainAdvice =
  'To give new sessions a chain: "chain": true in ~/.config/millrace/config.json, millrace serve --chain, or the option chain of the log in your program';

/** Maximum number of ranges that the first line lists. `--json` has all of them. */
const maxRanges = 5;

/** Returns the part of the first line that names the offsets which the signed head does not prove. */
function exceptText(unproven: NonNullable<ChainReport['unproven']>): string {
  if (unproven.length === 0) return '';
  const names = unproven.map(([first, last]) => (first === last ? first : `${first} to ${last}`));
  const more = unproven.length - maxRanges;
  const list = [...names.slice(0, maxRanges), ...(more > 0 ? [`${more} more`] : [])].join(', ');
  return `, except the offsets that changed after the signed head: ${list}`;
}

function rewriteText({ reason, turn, item, removed, link, offsets }: ChainRewrite): string {
  const what = turn === undefined ? (item === undefined ? '' : ` item ${item}`) : ` turn ${turn}`;
  const first = offsets[0]?.[0];
  const last = offsets.at(-1)?.[1];
  return `${reason}${what}: ${countOf(removed, 'record')} removed between offsets ${first} and ${last} (link ${link})`;
}
