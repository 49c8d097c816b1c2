import { join } from 'node:path';
import { MillraceError } from '@millrace/core';
import { createToken, isLoopback, type ServerOptions } from '@millrace/server';
import type { ServeArgs } from '../contract/args.ts';
import type { Env } from '../contract/host.ts';
import {
  ensurePrivateFolder,
  readOrCreatePrivateFile,
  replacePrivateFile,
} from './private-file.ts';

/** The token that clients of this server need, and how the operator can find it. */
export interface OperatorToken {
  readonly tokens: ServerOptions['tokens'];
  /**
   * The token that the server created, and the path of its file. Undefined if the user configured a
   * token.
   */
  readonly own?: { readonly token: string; readonly path: string } | undefined;
  /** Notes for the user about the token. The server prints them at the start. */
  readonly notes: readonly string[];
}

/**
 * Returns the token that the user configured. Without one, a server on loopback uses a token file
 * in its folder. If the file is missing, the server creates it with a random token. So other users
 * of the machine have no access, and open pages still work after a restart.
 */
export async function readOperatorToken(
  args: Pick<ServeArgs, 'token' | 'noToken' | 'host'>,
  env: Env,
  folder: () => string,
): Promise<OperatorToken> {
  const configured = args.token ?? env['MILLRACE_TOKEN'] ?? '';
  if (args.noToken) {
    if (configured !== '') throw bothTokens();
    return { tokens: 'none', notes: [openNote] };
  }
  if (configured !== '')
    return { tokens: [configured], notes: args.token === undefined ? [] : [visibleNote] };
  // A server that other machines can reach needs a configured token. Without one, it refuses to
  // start.
  if (!isLoopback(args.host ?? '127.0.0.1')) return { tokens: 'none', notes: [] };
  return ownToken(join(folder(), 'access'));
}

async function ownToken(folder: string): Promise<OperatorToken> {
  await ensurePrivateFolder(folder);
  const path = join(folder, 'token');
  const { text, isExposed } = await readOrCreatePrivateFile(path, createToken);
  if (!isExposed && tokenForm.test(text))
    return { tokens: [text], own: { token: text, path }, notes: [] };
  const { text: token } = await replacePrivateFile(path, createToken());
  const why = isExposed ? 'other users could read the old one' : 'the old one was damaged';
  return { tokens: [token], own: { token, path }, notes: [`${path} has a new token: ${why}`] };
}

/** Matches the tokens that `createToken` returns. */
const tokenForm = /^mr_[\w-]{43}$/;

const openNote =
  'No token is required: every user of this machine can use the agents and read all sessions';
const visibleNote =
  'Other users of this machine can read --token in the process list. Use MILLRACE_TOKEN instead';

function bothTokens(): MillraceError {
  const message = 'Cannot use --no-token together with a token. Remove one of them';
  return new MillraceError('bad_token', message);
}
