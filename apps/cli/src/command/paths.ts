import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Args, SessionsArgs, SharedArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';

/**
 * Resolves the paths in the arguments against the folder in which the user typed the command, not
 * against `--cwd`.
 */
export function resolveArgPaths<Given extends Args>(args: Given, from: string): Given {
  const given: Readonly<Record<string, unknown>> = { ...args };
  const paths = pathArgs.flatMap((name) => {
    const path = given[name];
    const isPath = typeof path === 'string' && !(urlCommands.has(args.command) && isUrl(path));
    return isPath ? [[name, resolve(from, path)] as const] : [];
  });
  return { ...args, ...Object.fromEntries(paths), ...resolveImportFiles(args, from) };
}

/** The commands whose store can also be a database. */
const urlCommands: ReadonlySet<Args['command']> = new Set(['serve', 'backup', 'restore']);

/**
 * Returns true if a store is a database URL and not a path. A scheme has at least two letters,
 * because one letter is a Windows drive.
 */
function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+]+:/i.test(text);
}

/** Resolves the operands of `sessions import`, which are paths of files. */
function resolveImportFiles(args: Args, from: string): Pick<SessionsArgs, 'operands'> | undefined {
  if (args.command !== 'sessions' || args.action !== 'import') return undefined;
  return { operands: args.operands.map((path) => resolve(from, path)) };
}

/**
 * Resolves the paths in environment variables against the folder in which the user typed the
 * command.
 */
export function resolveEnvPaths(env: Env, from: string): Env {
  const paths = ['MILLRACE_STORE', 'MILLRACE_CONFIG'].flatMap((name) => {
    const path = env[name];
    return path ? [[name, resolve(from, path)] as const] : [];
  });
  return { ...env, ...Object.fromEntries(paths) };
}

const pathArgs = ['config', 'store', 'outputSchema', 'output', 'agents', 'data', 'file'] as const;

/**
 * Returns the real path of the working folder. Sessions are stored with this path, so they are
 * found through every link to the folder.
 */
export async function resolveWorkFolder(
  { cwd }: Pick<SharedArgs, 'cwd'>,
  from: string,
): Promise<string> {
  const path = resolve(from, cwd ?? '.');
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory()) return realpath(path);
  const why = found === undefined ? 'the folder does not exist' : 'it is not a folder';
  const way = cwd === undefined ? 'Go to another folder' : 'Choose another folder with --cwd';
  throw new UsageError(`Cannot work in ${path}: ${why}. ${way}`, { path });
}
