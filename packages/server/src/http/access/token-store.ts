import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { JsonObject } from '@millrace/core';
import type { Row, Rows } from '../../contract/rows.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { Scope } from '../../contract/service.ts';

export interface TokenInfo {
  /** The token's hash, which is no secret. */
  readonly id: string;
  readonly scope: Scope;
  readonly label: string | null;
  readonly createdAt: number;
}

/** Who may ask. Of a token only its SHA-256 is kept: what it was cannot be told from that. */
export class TokenStore {
  readonly #rows: Rows;
  /** Hashes of the operator's own, which may touch all. */
  readonly #operators: readonly Buffer[];
  readonly #onRevoked: ((id: string) => void)[] = [];

  constructor(rows: Rows, operators: readonly string[] = []) {
    // It could not be sent as a token; and what is empty is what everybody has.
    if (!operators.every((token) => /^[\x21-\x7e]{1,4096}$/.test(token))) throw invalidToken();
    this.#rows = rows;
    this.#operators = operators.map(hashOf);
  }

  /** Has anybody a token, so that whoever has none is a stranger? */
  get hasOperatorTokens(): boolean {
    return this.#operators.length > 0;
  }

  /** A new token, which is told this once. */
  async issue(scope: Scope, label: string | null = null): Promise<TokenInfo & { token: string }> {
    const token = `mr_${randomBytes(32).toString('base64url')}`;
    const id = tokenId(token);
    const data: JsonObject = { scope: { ...scope }, label };
    const row = await this.#rows.put(
      'tokens',
      { id, keys: rowKeysOf(scope), data },
      { ifVersion: 0 },
    );
    return { token, ...toTokenInfo(row) };
  }

  /** What the token allows; undefined where nobody gave it. */
  async scopeOf(token: string): Promise<Scope | undefined> {
    const hash = hashOf(token);
    // All of them, so that how long it takes does not tell which one it was.
    let isOperator = false;
    for (const operator of this.#operators)
      isOperator = timingSafeEqual(operator, hash) || isOperator;
    if (isOperator) return { kind: 'all' };
    const row = await this.#rows.get('tokens', hash.toString('hex'));
    const isIt = row !== undefined && timingSafeEqual(Buffer.from(row.id, 'hex'), hash);
    return isIt ? toTokenInfo(row).scope : undefined;
  }

  async list(): Promise<readonly TokenInfo[]> {
    const rows = await this.#rows.list('tokens', { limit: 1000 });
    return rows.map(toTokenInfo);
  }

  async revoke(id: string): Promise<boolean> {
    const isGone = await this.#rows.delete('tokens', id);
    for (const listener of this.#onRevoked) listener(id);
    return isGone;
  }

  /** Hears of tokens that are revoked. */
  onRevoked(listener: (id: string) => void): void {
    this.#onRevoked.push(listener);
  }
}

/** What a token is known by, which is no secret: its hash. */
export function tokenId(token: string): string {
  return hashOf(token).toString('hex');
}

function invalidToken(): ServerError {
  const message =
    'Cannot use a token that is empty, has spaces in it or is longer than 4096 characters. Set another';
  return new ServerError('invalid', message);
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function rowKeysOf(scope: Scope): Readonly<Record<string, string>> {
  switch (scope.kind) {
    case 'all':
      return {};
    case 'agent':
      return { agent_id: scope.agentId };
    case 'task':
      return { task_id: scope.taskId };
  }
}

function toTokenInfo({ id, keys, data, createdAt }: Row): TokenInfo {
  const label = typeof data['label'] === 'string' ? data['label'] : null;
  const { agent_id: agentId, task_id: taskId } = keys;
  const scope: Scope =
    agentId !== undefined
      ? { kind: 'agent', agentId }
      : taskId !== undefined
        ? { kind: 'task', taskId }
        : { kind: 'all' };
  return { id, scope, label, createdAt };
}
