import { createPrivateKey, createPublicKey } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import {
  type ChainReport,
  type ChainRewrite,
  type Ed25519Key,
  parseHead,
  type SignedHead,
  signHead,
  type VerifyOptions,
  verifyExport,
  verifySession,
} from '@millrace/log';
import type { VerifyArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import { exitCodes } from '../exit-code.ts';
import { Output } from '../print/output.ts';
import { countOf } from '../print/text-table.ts';
import { type Store, type StoreCommandOptions, withStore } from '../store/open-store.ts';
import { findSession } from '../store/session-summaries.ts';

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
    const { name, report, head } = isFile
      ? await verifyFile(operand, cwd, checks)
      : await withStore(options, (store) => verifyStored(store, operand, options, checks));
    if (!report.isValid) code = exitCodes.error;
    const text = args.json
      ? `${JSON.stringify({ session: name, ...report })}\n`
      : `${reportLines(name, report).join('\n')}\n`;
    if (args.sign === undefined) await (args.json ? output.writeData(text) : output.write(text));
    else await notes.write(text);
    if (head !== undefined) await output.writeData(`${JSON.stringify(head)}\n`);
  }
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return code;
}

/**
 * True if the operand has the form of a file: a path with a slash, or a name that ends in `.jsonl`. A file of the
 * folder whose name is an id, or `last`, must not take the place of a session.
 */
function namesFile(operand: string): boolean {
  return /[/\\]|\.jsonl$/i.test(operand);
}

async function fileExists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

interface Verified {
  readonly name: string;
  readonly report: ChainReport;
  readonly head?: SignedHead | undefined;
}

async function verifyFile(path: string, cwd: string, checks: VerifyOptions): Promise<Verified> {
  const input = createReadStream(resolve(cwd, path));
  try {
    return { name: path, report: await verifyExport(createInterface({ input }), checks) };
  } finally {
    input.destroy();
  }
}

async function verifyStored(
  { log }: Store,
  which: string,
  { args, cwd }: StoreCommandOptions<VerifyArgs>,
  checks: VerifyOptions,
): Promise<Verified> {
  const { id } = await findSession(log, which, cwd);
  const report = await verifySession(log, id, checks);
  if (args.sign === undefined || !report.isValid) return { name: id, report };
  const key = await readKey(resolve(cwd, args.sign), 'private');
  return { name: id, report, head: await signHead(log, id, key) };
}

async function verifyOptions({ heads, key }: VerifyArgs, cwd: string): Promise<VerifyOptions> {
  if (key === undefined) return {};
  const texts = heads.map(async (path) => parseHead(await readFile(resolve(cwd, path), 'utf8')));
  const publicKey = await readKey(resolve(cwd, key), 'public');
  return { heads: await Promise.all(texts), publicKey };
}

/** Reads an Ed25519 key in the format PEM. */
async function readKey(path: string, type: 'private' | 'public'): Promise<Ed25519Key> {
  const pem = await readFile(path, 'utf8');
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
    ...problems.map(({ message, offsets }) => {
      const place = offsets === undefined ? '' : ` (offsets ${offsets.join(' to ')})`;
      return `  ${message}${place}`;
    }),
    ...rewrites.map((rewrite) => `  ${rewriteText(rewrite)}`),
    ...(uncovered === undefined
      ? []
      : [`  not covered: offsets ${uncovered.join(' to ')}, from before the chain started`]),
    ...(origin === undefined
      ? []
      : [`  copied from session ${origin.session} through offset ${origin.through}`]),
  ];
}

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
