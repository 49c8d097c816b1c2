import type { JsonObject } from '@millrace/core';
import type { Row, Rows } from '../contract/rows.ts';
import type { Grant, Scope } from '../contract/service.ts';

/** A stored token. The text of the token is not stored. */
export interface StoredToken extends Grant {
  /** The SHA-256 hash of the token. It is not secret. */
  readonly id: string;
  readonly label: string | null;
  readonly createdAt: number;
  /** The id of the token that created this token. Null if an operator token or a user created it. */
  readonly issuerId: string | null;
  /**
   * False if the token was issued by a server that required no token (`tokens: 'none'`). Anyone could have
   * requested the token there, so a server that requires tokens does not accept it.
   */
  readonly isGuarded: boolean;
}

/** Returns the row of a token. */
export function toTokenRow(
  token: Omit<StoredToken, 'createdAt'>,
): Pick<Row, 'id' | 'keys' | 'data'> {
  const { id, scope, label, isReadOnly, expiresAt, isGuarded, isAgentKey, issuerId } = token;
  const data: JsonObject = {
    ...{ scope: { ...scope }, label, is_read_only: isReadOnly, expires_at: expiresAt },
    ...{ is_guarded: isGuarded, is_agent_key: isAgentKey, issuer_id: issuerId },
  };
  const issuer = issuerId === null ? {} : { issuer_id: issuerId };
  return { id, keys: { ...rowKeysOf(scope), ...issuer }, data };
}

/** Reads a stored token. Returns undefined if its rights are invalid. The token then gives no access. */
export function fromTokenRow({ id, data, createdAt }: Row): StoredToken | undefined {
  const scope = readScope(data['scope']);
  const { label = null, expires_at: expiresAt = null } = data;
  const isReadOnly = data['is_read_only'] ?? false;
  if (scope === undefined || typeof isReadOnly !== 'boolean') return undefined;
  if (expiresAt !== null && typeof expiresAt !== 'number') return undefined;
  const isGuarded = data['is_guarded'] === true;
  const isAgentKey = data['is_agent_key'] === true;
  const text = typeof label === 'string' ? label : null;
  const issuerId = typeof data['issuer_id'] === 'string' ? data['issuer_id'] : null;
  const rights = { scope, isReadOnly, expiresAt, isGuarded, isAgentKey };
  return { id, ...rights, label: text, createdAt, issuerId };
}

/**
 * Deletes the tokens of an agent or a task for which `matches` returns true. Returns their ids. Default: deletes
 * all of them.
 */
export async function deleteTokensOf(
  rows: Rows,
  of: { readonly agent_id: string } | { readonly task_id: string },
  matches: (token: StoredToken) => boolean = () => true,
): Promise<readonly string[]> {
  const deleted: string[] = [];
  for await (const { id, token } of readTokens(rows, of)) {
    if (token !== undefined && !matches(token)) continue;
    await rows.delete('tokens', id);
    deleted.push(id);
  }
  return deleted;
}

/**
 * Reads all tokens with the given keys, page by page. `token` is undefined if its rights are invalid. The caller can
 * delete a row as soon as it has read it.
 */
export async function* readTokens(
  rows: Rows,
  where?: Readonly<Record<string, string>>,
): AsyncGenerator<{ readonly id: string; readonly token: StoredToken | undefined }> {
  for (let after: { at: number; id: string } | undefined; ; ) {
    const page = await rows.list('tokens', { where, limit: 500, after });
    for (const row of page) yield { id: row.id, token: fromTokenRow(row) };
    const last = page.at(-1);
    if (last === undefined) return;
    after = { at: last.createdAt, id: last.id };
  }
}

function rowKeysOf(scope: Scope): Readonly<Record<string, string>> {
  switch (scope.kind) {
    case 'all':
      return {};
    case 'agent':
      return { agent_id: scope.agentId };
    case 'task':
      return { task_id: scope.taskId };
    // Only `authorize` grants this scope, so a stored token with this scope is invalid.
    case 'user':
      return {};
  }
}

function readScope(value: unknown): Scope | undefined {
  const { kind, agentId, taskId } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (kind === 'all') return { kind };
  if (kind === 'agent' && typeof agentId === 'string') return { kind, agentId };
  if (kind === 'task' && typeof taskId === 'string') return { kind, taskId };
  return undefined;
}
