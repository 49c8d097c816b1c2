import { chmod, lstat, unlink } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { MillraceError } from '@millrace/core';
import type { SessionProfile } from './session-profile.ts';

/** A request of a terminal to the daemon. A connection carries one request and one reply. */
export type ControlRequest =
  /** Returns the address of the daemon. */
  | { readonly type: 'hello' }
  /** Stores the profile of a session and lists the session. The daemon does not drive it yet. */
  | { readonly type: 'adopt'; readonly session: string; readonly profile: SessionProfile }
  /** Drives a session that its terminal has handed over. */
  | { readonly type: 'resume'; readonly session: string }
  /** Hands a session over to the terminal that sends the request. */
  | { readonly type: 'release'; readonly session: string }
  /** Creates a link to one session. */
  | ShareRequest;

export interface ShareRequest {
  readonly type: 'share';
  readonly session: string;
  readonly seconds: number;
  /** True if the link can also send messages, answer questions and stop the run. */
  readonly canWrite: boolean;
  /** The address of the server for other machines, for example of a proxy. Default: its own address. */
  readonly base?: string | undefined;
}

/** The reply of the daemon. */
export interface ControlReply {
  readonly pid: number;
  readonly url: string;
  /** The link of `share`. */
  readonly link?: string | undefined;
  /** The time at which the link expires, in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}

const maxRequestBytes = 1_000_000;

/** Receives requests of terminals until it is closed. */
export interface ControlServer {
  close(): Promise<void>;
}

/**
 * Listens on a Unix socket. The caller must hold the lock of the daemon, because a socket of an earlier
 * daemon is replaced.
 */
export async function listenForControl(
  path: string,
  handle: (request: ControlRequest) => Promise<ControlReply>,
): Promise<ControlServer> {
  await unlink(path).catch(() => {});
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => {});
    void readLine(socket)
      .then((line) => handle(JSON.parse(line) as ControlRequest))
      .then(
        (reply) => ({ reply }),
        (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
      )
      .then((answer) => socket.end(`${JSON.stringify(answer)}\n`));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  await chmod(path, 0o600);
  return {
    async close() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * Sends a request to the daemon. Returns undefined if no daemon listens. Throws if the folder of the socket belongs to a
 * different user, who could answer in place of the daemon.
 */
export async function askDaemon(
  path: string,
  request: ControlRequest,
): Promise<ControlReply | undefined> {
  await assertOwnFolder(dirname(path));
  const socket = createConnection(path);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return undefined;
    throw error;
  }
  socket.write(`${JSON.stringify(request)}\n`);
  const line = await readLine(socket).finally(() => socket.destroy());
  const { reply, error } = JSON.parse(line) as { reply?: ControlReply; error?: string };
  if (reply === undefined) throw new MillraceError('daemon', error ?? 'The daemon gave no reply');
  return reply;
}

async function assertOwnFolder(folder: string): Promise<void> {
  const user = process.geteuid?.();
  const found = await lstat(folder).catch(() => undefined);
  if (user === undefined || found === undefined) return;
  if (found.isDirectory() && found.uid === user) return;
  const message = `Cannot use the daemon: ${folder} is not a folder of this user. Delete it, or choose another store with --store <file>`;
  throw new MillraceError('not_private', message, { path: folder });
}

/** Reads one line. Throws if the connection ends before the line does. */
async function readLine(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('utf8');
  return new Promise((resolve, reject) => {
    const fail = () => reject(new MillraceError('daemon', 'The connection to the daemon ended'));
    socket.once('close', fail);
    socket.once('error', fail);
    socket.on('data', (piece: string) => {
      text += piece;
      const end = text.indexOf('\n');
      if (end >= 0) resolve(text.slice(0, end));
      else if (text.length > maxRequestBytes) socket.destroy();
    });
  });
}
