import { createHash, randomUUID } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { McpServer } from '@millrace/tools/mcp';
import type { ConfigFile } from '../contract/config.ts';
import { readFileSafely } from '../safe-files.ts';
import { foldersUpToRoot } from './config-paths.ts';
import { findNamedScripts } from './named-scripts.ts';

const maxScriptBytes = 64 * 1024 * 1024;

/** Matches files with data. They change while a server runs, and no server executes them. */
const dataNames = /\.(?:db|sqlite3?|duckdb|log|jsonl|csv|tsv|parquet)(?:-wal|-shm|-journal)?$/i;

/**
 * Returns the absolute paths of the project's files that the MCP servers of a file execute: all files of the
 * repository that the command, the arguments and the environment of a server name. If the repository has too
 * many files to search, the result has the empty path, whose content is unknown.
 */
export async function findServerScripts(
  { mcpServers = {} }: ConfigFile,
  cwd: string,
): Promise<readonly string[]> {
  const commands = Object.values(mcpServers).flatMap(
    ({ command, args = [], env = {}, ...server }) =>
      command === undefined || server.disabled === true
        ? []
        : [
            {
              command: [command, ...args, ...Object.values(env)].map(quoted).join(' '),
              projectFolder: resolve(cwd, server.cwd ?? '.'),
            },
          ],
  );
  if (commands.length === 0) return [];
  const root = await realpath((await foldersUpToRoot(cwd)).at(-1) ?? cwd);
  const found = (await findNamedScripts(commands, { root, cwd })) ?? [''];
  return found.filter((path) => !dataNames.test(path));
}

/**
 * Returns a function that checks the files of the project that a server executes, before each start of the
 * server. It throws if a file has changed since the first start, or if there is a new file that the command can
 * name. The agent may have written it, and the server runs outside of the sandbox.
 */
export function guardServerScripts(
  { name, stdio }: Pick<McpServer, 'name' | 'stdio'>,
  cwd: string,
): () => Promise<void> {
  const fingerprint = async () => {
    const scripts = await findServerScripts({ mcpServers: stdio && { [name]: stdio } }, cwd);
    return JSON.stringify(
      await Promise.all(scripts.map(async (path) => [path, await fingerprintFile(path)])),
    );
  };
  let first: string | undefined;
  return async () => {
    const now = await fingerprint();
    first ??= now;
    if (now !== first)
      throw new Error(
        'A file that it executes has changed. Start millrace again to use the server',
      );
  };
}

/** Returns a fingerprint of a file. If the file cannot be read, each fingerprint is different. */
export async function fingerprintFile(path: string): Promise<string> {
  const read = readFileSafely(path, { maxBytes: maxScriptBytes });
  const content = await read.then(
    ({ bytes }) => bytes,
    () => randomUUID(),
  );
  return createHash('sha256').update(content).digest('hex');
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
