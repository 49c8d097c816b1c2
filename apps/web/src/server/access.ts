import type { Api } from './api.ts';

/** What the user may do with this tab's token. */
export interface Access {
  readonly isReadOnly: boolean;
  /** True if the user may create tokens, for example for a link that others can open. */
  readonly canShare: boolean;
  /** True if nobody can use the server without a token. */
  readonly isTokenRequired: boolean;
}

/** The access before the server has answered. The server checks every request anyway. */
export const fullAccess: Access = { isReadOnly: false, canShare: false, isTokenRequired: true };

/** The rights of the user. They are requested once, because a tab keeps its token. */
export class AccessStore {
  readonly #api: Pick<Api, 'get'>;
  readonly #listeners = new Set<() => void>();
  #state: Access = fullAccess;
  #isRequested = false;

  constructor(api: Pick<Api, 'get'>) {
    this.#api = api;
  }

  readonly state = (): Access => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (!this.#isRequested) void this.#request();
    return () => void this.#listeners.delete(listener);
  };

  async #request(): Promise<void> {
    this.#isRequested = true;
    try {
      const reply = (await this.#api.get('/access')) as unknown as AccessReply;
      const isReadOnly = reply.read_only === true;
      const canShare = reply.scope === 'all' && !isReadOnly;
      this.#state = { isReadOnly, canShare, isTokenRequired: reply.is_token_required !== false };
    } catch {
      // A failed request is repeated by the next component that needs the rights.
      this.#isRequested = false;
      return;
    }
    for (const listener of [...this.#listeners]) listener();
  }
}

interface AccessReply {
  readonly scope: string;
  readonly read_only: boolean;
  readonly is_token_required: boolean;
}
