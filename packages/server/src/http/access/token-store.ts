import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@millrace/log';
import type { Row, Rows } from '../../contract/rows.ts';
import { ServerError } from '../../contract/server-error.ts';
import { fullGrant, type Grant, type Scope } from '../../contract/service.ts';
import { markKeyRevoked } from '../../stores/agent-keys.ts';
import { fromTokenRow, readTokens, type StoredToken, toTokenRow } from '../../stores/token-rows.ts';
import { UnknownReads } from './unknown-reads.ts';

/** Minimum length of an operator token. 32 hexadecimal digits are 128 random bits. */
const minTokenLength = 32;
/**
 * Minimum number of different characters in an operator token. It rejects repeated words and accepts random
 * texts.
 */
const minDifferentCharacters = 8;
const maxTokenLength = 4096;

/** Matches the texts of all issued tokens and agent keys. Any other text cannot be in the store. */
const issuedForm = /^mr_[\w-]{43}$/;

/** Maximum number of unknown tokens in one read of the store, if the store can read several rows at once. */
const maxLookups = 500;

/** Maximum number of tokens whose look-ups do not wait for those of unknown tokens. */
const maxKnown = 10_000;

/** A token as clients receive it, without its secret text. */
export type TokenInfo = Omit<StoredToken, 'isGuarded'>;

/** The rights that a new token should have. */
interface TokenRequest {
  readonly scope: Scope;
  readonly label?: string | null;
  readonly isReadOnly?: boolean;
  /** The lifetime in milliseconds. Default: the remaining lifetime of the token that creates the new one. */
  readonly lifetimeMs?: number | undefined;
}

/**
 * Creates a random operator token with 256 bits, for the option `tokens` of `createServer`.
 *
 * @example
 * const token = createToken();
 * const server = createServer({ tokens: [token] });
 */
export function createToken(): string {
  return `mr_${randomBytes(32).toString('base64url')}`;
}

/** Issues, finds and revokes tokens. The row store contains only the SHA-256 hash of a token. */
export class TokenStore {
  readonly #rows: Rows;
  readonly #clock: Pick<Clock, 'now'>;
  /** Hashes of the operator tokens, which have access to everything. */
  readonly #operators: readonly Buffer[];
  /** True if every request needs a token. */
  readonly isRequired: boolean;
  readonly #onRevoked: ((id: string) => void)[] = [];
  readonly #lookups: UnknownReads<Row>;
  /**
   * The ids of tokens that were valid at their last look-up. The last used one comes last. The store reads them again
   * for each request, because another server can revoke them.
   */
  readonly #known = new Set<string>();

  constructor(rows: Rows, operators: readonly string[] | 'none', clock: Pick<Clock, 'now'>) {
    if (operators !== 'none') assertOperatorTokens(operators);
    this.#rows = rows;
    this.#lookups = new UnknownReads({
      batchSize: rows.getMany === undefined ? 1 : maxLookups,
      read: async (ids) => {
        const found = await (rows.getMany?.('tokens', ids) ??
          Promise.all(ids.map((id) => rows.get('tokens', id))));
        return new Map(found.flatMap((row) => (row === undefined ? [] : [[row.id, row]])));
      },
    });
    this.#clock = clock;
    this.isRequired = operators !== 'none';
    this.#operators = operators === 'none' ? [] : operators.map(hashOf);
  }

  /**
   * Creates a token. No other method returns the secret text. A new token never has more rights than the
   * token that creates it.
   */
  async issue(request: TokenRequest, issuer: Grant): Promise<TokenInfo & { token: string }> {
    const { scope, label = null, isReadOnly = false } = request;
    const expiresAt = expiryWithin(issuer, request.lifetimeMs, this.#clock.now());
    if (issuer.scope.kind !== 'all' || (issuer.isReadOnly && !isReadOnly))
      throw new ServerError('forbidden', 'Cannot create a token with more rights than your own');
    const token = createToken();
    const rights = { scope, isReadOnly, expiresAt, isAgentKey: false };
    // An issued token has an id. An operator and a user have none.
    const { id: issuerId = null } = issuer as Grant & Partial<Pick<StoredToken, 'id'>>;
    const stored = { id: tokenId(token), label, issuerId, ...rights };
    const row = toTokenRow({ ...stored, isGuarded: this.isRequired });
    const { createdAt } = await this.#rows.put('tokens', row, { ifVersion: 0 });
    // The issuer may have been revoked meanwhile, which does not revoke a token that is stored later.
    if (issuerId !== null && !(await this.isValid(issuerId))) {
      await this.revoke(stored.id);
      throw new ServerError('forbidden', 'Cannot create a token: your own token was revoked');
    }
    return { token, ...stored, createdAt };
  }

  /**
   * Returns the rights of an operator token. Returns undefined for any other token. It does not read the
   * row store.
   */
  operatorGrant(token: string): Grant | undefined {
    const hash = hashOf(token);
    // The loop compares the hash with all operator tokens. Its duration therefore does not reveal which token
    // matched.
    let isOperator = false;
    for (const operator of this.#operators)
      isOperator = timingSafeEqual(operator, hash) || isOperator;
    return isOperator ? fullGrant : undefined;
  }

  /**
   * Returns the rights of an issued token. Returns undefined if the token is unknown, expired or refused. Clients can
   * send any number of wrong tokens, so the look-ups of unknown tokens wait for each other. `isSuspect` is true for an
   * address that sent many wrong tokens.
   */
  async issuedGrant(token: string, isSuspect = false): Promise<Grant | undefined> {
    if (!issuedForm.test(token)) return undefined;
    const hash = hashOf(token);
    const id = hash.toString('hex');
    const row = await (this.#known.has(id)
      ? this.#rows.get('tokens', id)
      : this.#lookups.find(id, isSuspect));
    const isMatch = row !== undefined && timingSafeEqual(Buffer.from(row.id, 'hex'), hash);
    const stored = isMatch ? fromTokenRow(row) : undefined;
    this.#known.delete(id);
    if (stored === undefined || !this.#isValid(stored)) return undefined;
    this.#known.add(id);
    const [oldest] = this.#known;
    if (oldest !== undefined && this.#known.size > maxKnown) this.#known.delete(oldest);
    return stored;
  }

  /** Returns true if a token with this id is valid now. Another server may have revoked it. */
  async isValid(id: string): Promise<boolean> {
    if (this.#operators.some((operator) => operator.toString('hex') === id)) return true;
    const row = await this.#rows.get('tokens', id);
    const stored = row && fromTokenRow(row);
    return stored !== undefined && this.#isValid(stored);
  }

  /**
   * Returns the tokens that are valid now. If a task is given, it returns only the tokens for this task.
   * Expired tokens are deleted.
   */
  async list(taskId?: string): Promise<readonly TokenInfo[]> {
    const where = taskId === undefined ? undefined : { task_id: taskId };
    const valid: TokenInfo[] = [];
    for await (const { id, token } of readTokens(this.#rows, where)) {
      if (token !== undefined && this.#isValid(token)) valid.push(token);
      else await this.#rows.delete('tokens', id);
    }
    return valid;
  }

  /**
   * Revokes a token and all tokens that were created with it. A revoked agent key never becomes valid again.
   */
  async revoke(id: string): Promise<boolean> {
    const row = await this.#rows.get('tokens', id);
    const stored = row && fromTokenRow(row);
    if (stored?.isAgentKey && stored.scope.kind === 'agent')
      await markKeyRevoked(this.#rows, stored.scope.agentId);
    const wasDeleted = await this.#rows.delete('tokens', id);
    this.reportRevoked(id);
    for await (const child of readTokens(this.#rows, { issuer_id: id }))
      await this.revoke(child.id);
    return wasDeleted;
  }

  /** Calls the listeners after a token was revoked. */
  reportRevoked(id: string): void {
    for (const listener of this.#onRevoked) listener(id);
  }

  /** Registers a listener that is called after a token is revoked. */
  onRevoked(listener: (id: string) => void): void {
    this.#onRevoked.push(listener);
  }

  #isValid({ expiresAt, isGuarded }: StoredToken): boolean {
    const isExpired = expiresAt !== null && expiresAt <= this.#clock.now();
    return !isExpired && (isGuarded || !this.isRequired);
  }
}

/** Returns the public id of a token. The id is the hash of the token. */
export function tokenId(token: string): string {
  return hashOf(token).toString('hex');
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/**
 * Returns the time when a new token expires. A new token cannot live longer than the token that creates it.
 */
function expiryWithin(issuer: Grant, lifetimeMs: number | undefined, now: number): number | null {
  if (lifetimeMs === undefined) return issuer.expiresAt;
  const wanted = now + lifetimeMs;
  if (issuer.expiresAt === null || wanted <= issuer.expiresAt) return wanted;
  const message =
    'Cannot create a token that lasts longer than your own. Request a shorter time, or omit expires_in';
  throw new ServerError('forbidden', message);
}

function assertOperatorTokens(tokens: readonly string[]): void {
  if (tokens.length === 0)
    throw weakToken('the list is empty. Operators need one, also with `authorize`');
  for (const token of tokens) {
    if (!/^[\x21-\x7e]*$/.test(token) || token.length > maxTokenLength)
      throw weakToken(`it contains spaces or has more than ${maxTokenLength} characters`);
    if (token.length < minTokenLength)
      throw weakToken(`it has ${token.length} characters and needs at least ${minTokenLength}`);
    if (new Set(token).size < minDifferentCharacters)
      throw weakToken(`it has fewer than ${minDifferentCharacters} different characters`);
  }
}

/** Returns the error for an operator token that is too weak. The message never contains the token. */
function weakToken(why: string): ServerError {
  const message = `Cannot use this operator token: ${why}. Create one with createToken(), or with: openssl rand -hex 32`;
  return new ServerError('invalid', message);
}
