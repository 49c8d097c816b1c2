import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Args, SessionsArgs, SharedArgs, TestArgs } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';

/**
 * Makes the paths in the arguments absolute. They are relative to the folder in which the user
 * typed the command, and not to `--cwd`.
 */
export function resolveArgPaths<Given extends Args>(args: Given, from: string): Given {
  const given: Readonly<Record<string, unknown>> = { ...args };
  const paths = pathArgs.flatMap((name) => {
    const path = given[name];
    const isPath = typeof path === 'string' && !(urlCommands.has(args.command) && isUrl(path));
    return isPath ? [[name, resolve(from, path)] as const] : [];
  });
  return { ...args, ...Object.fromEntries(paths), ...resolveFiles(args, from) };
}

/** The commands whose store can also be a database. */
const urlCommands: ReadonlySet<Args['command']> = new Set(['serve', 'backup', 'restore']);

/**
 * Returns true if a store is a database URL and not a path. A URL scheme has at least two letters,
 * because a single letter is a Windows drive.
 */
function isUrl(text: string): boolean {
  return /^[a-z][a-z0-9+]+:/i.test(text);
}

/** Makes the paths in lists absolute: the files of `sessions import`, and the folder of `sessions pin`. */
function resolveFiles(
  args: Args,
  from: string,
): Pick<SessionsArgs, 'operands'> | Pick<TestArgs, 'outputs'> | undefined {
  if (args.command === 'test' || args.command === 'eval')
    return { outputs: args.outputs.map((path) => resolve(from, path)) };
  if (args.command !== 'sessions') return undefined;
  const first = { import: 0, pin: 1 } as const;
  const start = args.action in first ? first[args.action as keyof typeof first] : undefined;
  if (start === undefined) return undefined;
  const { operands } = args;
  return { operands: operands.map((path, at) => (at < start ? path : resolve(from, path))) };
}

/**
 * Makes the paths in environment variables absolute. They are relative to the folder in which the
 * user typed the command.
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
 * Returns the real path of the working folder. Sessions are stored with the real path. So a user
 * who opens the folder through a link finds the same sessions.
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
