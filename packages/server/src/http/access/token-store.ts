import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { JsonObject } from '@millrace/core';
import type { Row, Rows } from '../../contract/rows.ts';
import { ServerError } from '../../contract/server-error.ts';
import type { Scope } from '../../contract/service.ts';

export interface TokenInfo {
  /** The SHA-256 hash of the token. It is not secret. */
  readonly id: string;
  readonly scope: Scope;
  readonly label: string | null;
  readonly createdAt: number;
}

/** Issues, finds and revokes tokens. The store keeps only the SHA-256 hash of a token. */
export class TokenStore {
  readonly #rows: Rows;
  /** Hashes of the operator tokens, which have access to everything. */
  readonly #operators: readonly Buffer[];
  readonly #onRevoked: ((id: string) => void)[] = [];

  constructor(rows: Rows, operators: readonly string[] = []) {
    // Such a token could not be sent in a header, and an empty token would match every caller.
    if (!operators.every((token) => /^[\x21-\x7e]{1,4096}$/.test(token))) throw invalidToken();
    this.#rows = rows;
    this.#operators = operators.map(hashOf);
  }

  /** True if operator tokens are configured. Then every request needs a token. */
  get hasOperatorTokens(): boolean {
    return this.#operators.length > 0;
  }

  /** Creates a token. The caller sees its text only this once. */
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

  /** The scope of the token. Undefined if the token is unknown. */
  async scopeOf(token: string): Promise<Scope | undefined> {
    const hash = hashOf(token);
    // Compares with all of them, so that the time does not reveal which one matched.
    let isOperator = false;
    for (const operator of this.#operators)
      isOperator = timingSafeEqual(operator, hash) || isOperator;
    if (isOperator) return { kind: 'all' };
    const row = await this.#rows.get('tokens', hash.toString('hex'));
    const isMatch = row !== undefined && timingSafeEqual(Buffer.from(row.id, 'hex'), hash);
    return isMatch ? toTokenInfo(row).scope : undefined;
  }

  async list(): Promise<readonly TokenInfo[]> {
    const rows = await this.#rows.list('tokens', { limit: 1000 });
    return rows.map(toTokenInfo);
  }

  async revoke(id: string): Promise<boolean> {
    const wasDeleted = await this.#rows.delete('tokens', id);
    for (const listener of this.#onRevoked) listener(id);
    return wasDeleted;
  }

  /** Registers a listener that is called after a token is revoked. */
  onRevoked(listener: (id: string) => void): void {
    this.#onRevoked.push(listener);
  }
}

/** The public id of a token: its hash. */
export function tokenId(token: string): string {
  return hashOf(token).toString('hex');
}

function invalidToken(): ServerError {
  const message =
    'Cannot use a token that is empty, contains spaces or is longer than 4096 characters. Set another token';
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
