import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type JsonObject, parseJson } from '@millrace/core';
import { McpError } from '../../contract/mcp-error.ts';
import { type McpLogin, type McpLogins, parseLogin } from '../../contract/mcp-oauth.ts';
import { makeFolder } from '../../rewind/file-copies.ts';

/** Maximum size of a stored login. Servers choose the tokens. */
const maxBytes = 256 * 1024;

/**
 * Stores logins in a folder, one file for each server. Only the current user can read the files. A process that
 * renews a token replaces the file, and other processes use the new token.
 *
 * @example
 * ```ts
 * const logins = fileMcpLogins('mcp-logins');
 * ```
 */
export function fileMcpLogins(folder: string): McpLogins {
  const pathOf = (serverUrl: string) =>
    join(folder, `${createHash('sha256').update(serverUrl).digest('hex').slice(0, 32)}.json`);
  return {
    read: (serverUrl) => readLogin(pathOf(serverUrl), serverUrl),
    write: async (serverUrl, login) => {
      const path = pathOf(serverUrl);
      if (login === undefined) return rm(path, { force: true });
      const text = `${JSON.stringify({ server: serverUrl, ...login }, undefined, 2)}\n`;
      if (Buffer.byteLength(text) > maxBytes)
        throw storeError(path, `it would have more than ${maxBytes} bytes`);
      makeFolder(folder);
      await replaceFile(path, text);
    },
  };
}

/** Stores logins in memory, for tests and for programs that end soon. */
export function memoryMcpLogins(): McpLogins {
  const logins = new Map<string, McpLogin>();
  return {
    read: async (serverUrl) => logins.get(serverUrl),
    write: async (serverUrl, login) => {
      if (login === undefined) logins.delete(serverUrl);
      else logins.set(serverUrl, login);
    },
  };
}

async function readLogin(path: string, serverUrl: string): Promise<McpLogin | undefined> {
  const text = await readPrivateFile(path);
  if (text === undefined) return undefined;
  const parsed = parseJson(text);
  const { value } = parsed.ok ? parsed : { value: undefined };
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw storeError(path, 'it is not a JSON object');
  const fields = value as JsonObject;
  // A login that was copied from the file of a different server must not be used.
  return fields['server'] === serverUrl ? parseLogin(fields) : undefined;
}

async function readPrivateFile(path: string): Promise<string | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw storeError(path, error.code ?? 'it cannot be opened');
  });
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    const uid = process.getuid?.();
    const isPrivate = uid === undefined || (stats.uid === uid && (stats.mode & 0o077) === 0);
    if (!stats.isFile() || !isPrivate)
      throw storeError(path, 'other users can read or change it. Delete it, and log in again');
    if (stats.size > maxBytes) throw storeError(path, `it has more than ${maxBytes} bytes`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Replaces a file in one step, so that no other process reads a part of it. */
async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`;
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

function storeError(path: string, why: string): McpError {
  return new McpError('login_failed', `Cannot use the MCP login in ${path}: ${why}`, { path });
}
