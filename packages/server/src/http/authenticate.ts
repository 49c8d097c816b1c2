import type { IncomingHttpHeaders } from 'node:http';
import { ServerError } from '../contract/server-error.ts';
import { fullScope, type Scope } from '../contract/service.ts';
import { type TokenStore, tokenId } from './token-store.ts';

export interface Caller {
  /** The name of the token; undefined without one. */
  readonly name: string | undefined;
  readonly scope: Scope;
}

const maxTokenLength = 4096;

/** Who asks. A token that nobody gave is refused also where none is needed. */
export async function authenticate(
  headers: IncomingHttpHeaders,
  tokens: TokenStore,
  isTokenNeeded: boolean,
): Promise<Caller> {
  const token = tokenOf(headers);
  if (token === undefined) {
    if (!isTokenNeeded) return { name: undefined, scope: fullScope };
    const message = 'Cannot answer without a token. Send one as `authorization: Bearer …`';
    throw new ServerError('unauthorized', message);
  }
  const canBe = token.length > 0 && token.length <= maxTokenLength;
  const scope = canBe ? await tokens.scopeOf(token) : undefined;
  if (scope !== undefined) return { name: tokenName(tokenId(token)), scope };
  const message = 'Cannot take this token: it was never given, or was revoked. Ask for another';
  throw new ServerError('unauthorized', message);
}

function tokenOf(headers: IncomingHttpHeaders): string | undefined {
  const { authorization, 'x-agent-api-key': key } = headers;
  if (typeof key === 'string') return key;
  if (authorization === undefined) return undefined;
  // What has another scheme is a token that is none.
  return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
}

/** By which its requests and streams are known. */
export function tokenName(id: string): string {
  return `token ${id}`;
}
