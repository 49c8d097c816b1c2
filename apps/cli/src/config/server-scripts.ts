import { createHash, randomUUID } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { McpServer } from '@millrace/tools/mcp';
import { readFileSafely } from '../safe-files.ts';
import { foldersUpToRoot } from './config-paths.ts';
import { findNamedScripts, type NamedScripts, namesInterpreter } from './named-scripts.ts';

/** Maximum size of all files of the servers together. */
const maxScriptBytes = 64 * 1024 * 1024;

/** Matches files with data. They change while a server runs, and no server executes them. */
const dataNames = /\.(?:db|sqlite3?|duckdb|log|jsonl|csv|tsv|parquet)(?:-wal|-shm|-journal)?$/i;

/** The parts of an MCP server that can name files. */
interface ServerCommand {
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The folder in which the server starts, relative to the working folder. Default: the working folder. */
  readonly cwd?: string | undefined;
  readonly disabled?: boolean | undefined;
}

/**
 * Finds the project's files that MCP servers execute: all files of the repository that the command, the
 * arguments and the environment of a server name, and the files with which interpreters start a folder that they
 * name, such as `__main__.py` and `index.js`. The other files of a folder can be data. If the repository has too many files to search, or if a command does
 * not show the name of its script, the result has the empty path, whose content is unknown.
 */
export async function findServerScripts(
  servers: readonly ServerCommand[],
  cwd: string,
): Promise<NamedScripts> {
  const commands = servers.flatMap(({ command, args = [], env = {}, ...server }) => {
    if (command === undefined || server.disabled === true) return [];
    const words = [command, ...args, ...Object.values(env)];
    const [program = ''] = args.filter((arg) => !/^-|^(?:dlx|exec|x)$/.test(arg));
    // Many servers get the root folder as data, for example to show its files. An interpreter, and a program whose
    // first argument is a path, can also run a script in it. The entry files of all other folders always count.
    const runsRoot = namesInterpreter([command, ...args].join(' ')) || /^[./~$]/.test(program);
    const projectFolder = resolve(cwd, server.cwd ?? '.');
    return [{ command: words.map(quoted).join(' '), projectFolder, runsRoot }];
  });
  if (commands.length === 0) return { files: [], shadows: [], isUnclear: false };
  const root = await realpath((await foldersUpToRoot(cwd)).at(-1) ?? cwd);
  const found = await findNamedScripts(commands, { root, cwd });
  const { files, shadows, isUnclear } = found ?? { files: [], shadows: [], isUnclear: true };
  const scripts = files.filter((path) => !dataNames.test(path));
  return { files: [...(isUnclear ? [''] : []), ...scripts], shadows, isUnclear };
}

/**
 * Returns the paths in the project that no call may change without an approval, because servers run outside of
 * the sandbox: the files that servers execute, and paths at which a new file would run in place of them.
 */
export async function protectedServerFiles(
  servers: readonly Pick<McpServer, 'stdio'>[],
  cwd: string,
): Promise<readonly string[]> {
  const commands = servers.flatMap(({ stdio }) => stdio ?? []);
  const { files, shadows } = await findServerScripts(commands, cwd);
  return [...files, ...shadows].filter((path) => path !== '');
}

/**
 * The fingerprint of the files of each server at its first start in this process, by folder and command. It is
 * kept for all sessions, because an editor opens many sessions in one process.
 */
const firstStarts = new Map<string, string>();

/**
 * Returns a function that checks the files of the project that a server executes, before each start of the
 * server. It throws if a file has changed since the first start in this process, or if there is a new file that
 * the command can name. The agent may have written it, and the server runs outside of the sandbox.
 */
export function guardServerScripts(
  { stdio }: Pick<McpServer, 'stdio'>,
  cwd: string,
): () => Promise<void> {
  const fingerprint = async () => {
    const { files } = await findServerScripts(stdio === undefined ? [] : [stdio], cwd);
    const found = JSON.stringify(await fingerprintFiles(files));
    return createHash('sha256').update(found).digest('hex');
  };
  const key = JSON.stringify([cwd, stdio]);
  return async () => {
    const now = await fingerprint();
    if (!firstStarts.has(key)) firstStarts.set(key, now);
    if (now !== firstStarts.get(key))
      throw new Error(
        'A file that it executes has changed. Start millrace again to use the server',
      );
  };
}

/**
 * Returns the path and a fingerprint of each file. If a file cannot be read, or if the files are too large, each
 * fingerprint is different.
 */
export async function fingerprintFiles(
  paths: readonly string[],
): Promise<readonly { readonly path: string; readonly fingerprint: string }[]> {
  let left = maxScriptBytes;
  const found: { readonly path: string; readonly fingerprint: string }[] = [];
  for (const path of paths) {
    const read = readFileSafely(path, { maxBytes: left });
    const content = await read.then(
      ({ bytes }) => bytes,
      () => Buffer.from(randomUUID()),
    );
    left = Math.max(0, left - content.length);
    found.push({ path, fingerprint: createHash('sha256').update(content).digest('hex') });
  }
  return found;
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
