import type { Api } from './api.ts';

/** The rights that the token of this tab gives to the user. */
export interface Access {
  readonly isReadOnly: boolean;
  /** True if the user may create tokens, for example for a link that others can open. */
  readonly canShare: boolean;
  /** True if the server refuses all requests without a token. */
  readonly isTokenRequired: boolean;
}

/**
 * The rights that the page assumes until the server has sent them. The server checks every request
 * anyway.
 */
export const fullAccess: Access = { isReadOnly: false, canShare: false, isTokenRequired: true };

/** The rights of the user. They are requested once, because the token of a tab does not change. */
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
      // If the request failed, the next component that needs the rights sends it again.
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
