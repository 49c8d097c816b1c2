import {
  type AuthProvider,
  extractWWWAuthenticateParams,
  OAuthError,
  refreshAuthorization,
} from '@modelcontextprotocol/client';
import { type LoginChallenge, LoginNeededError } from '../../contract/mcp-error.ts';
import type { McpLogin, McpOAuth } from '../../contract/mcp-oauth.ts';
import type { McpHttpServer, McpServer } from '../../contract/mcp-server.ts';
import {
  clientInformation,
  findAuthorizationServer,
  isSameIssuer,
  joinScopes,
} from './authorization-server.ts';
import { loginFetch } from './guarded-fetch.ts';
import { issuedTokens } from './issued-tokens.ts';

/** An MCP server with a login. */
export type OAuthServer = McpHttpServer & { readonly http: { readonly oauth: McpOAuth } };

/** True if the client logs in to a server. A configured `authorization` header replaces the login. */
export function hasLogin(server: McpServer): server is OAuthServer {
  const { http } = server;
  const names = Object.keys(http?.headers ?? {}).map((name) => name.toLowerCase());
  return http?.oauth !== undefined && !names.includes('authorization');
}

/** Returns the key under which the login of a server is stored. */
export function loginKey({ http }: McpHttpServer): string {
  const url = new URL(http.url);
  url.hash = '';
  return url.href;
}

const maxSecrets = 40;

/**
 * Gives the stored token to the transport of a server, and renews the token when the server refuses it. It never
 * asks the user. A login that is missing is a `LoginNeededError`.
 */
export class ServerAuthorization implements AuthProvider {
  readonly server: OAuthServer;
  /** The tokens that this process has seen. They are removed from all error texts. */
  readonly secrets: Set<string> = new Set();
  readonly #closing: AbortSignal;
  #lastToken: string | undefined;
  // Requests that fail at the same time share one renewal, because a refresh token may work only once.
  #renewing: Promise<void> | undefined;

  constructor(server: OAuthServer, closing: AbortSignal) {
    this.server = server;
    this.#closing = closing;
  }

  async read(): Promise<McpLogin | undefined> {
    const login = await this.server.http.oauth.logins.read(loginKey(this.server));
    this.#hide(login);
    return login;
  }

  async write(login: McpLogin): Promise<void> {
    this.#hide(login);
    await this.server.http.oauth.logins.write(loginKey(this.server), login);
  }

  async token(): Promise<string | undefined> {
    this.#lastToken = (await this.read())?.accessToken;
    return this.#lastToken;
  }

  async onUnauthorized({ response }: { readonly response: Response }): Promise<void> {
    const { scope, resourceMetadataUrl } = extractWWWAuthenticateParams(response);
    const challenge = { scope, metadataUrl: resourceMetadataUrl };
    this.#renewing ??= this.#renew(challenge).finally(() => {
      this.#renewing = undefined;
    });
    await this.#renewing;
  }

  /** Remembers the scopes that a call needed, so that the next login asks for them. */
  async needMore(challenge: LoginChallenge): Promise<LoginNeededError> {
    const login = await this.read();
    const neededScope = joinScopes(login?.neededScope, challenge.scope);
    if (login !== undefined && neededScope !== login.neededScope)
      await this.write({ ...login, neededScope });
    return new LoginNeededError(challenge, true);
  }

  async #renew(challenge: LoginChallenge): Promise<void> {
    const login = await this.read();
    // Another process has renewed the token in the meantime.
    if (login?.accessToken !== undefined && login.accessToken !== this.#lastToken) return;
    if (login?.refreshToken === undefined) throw new LoginNeededError(challenge, false);
    const fetchFn = loginFetch(this.server, this.#closing);
    const found = await findAuthorizationServer(this.server, challenge, fetchFn);
    // The token belongs to the server that issued it. A different one must not get it.
    if (!isSameIssuer(found.issuer, login.issuer)) throw new LoginNeededError(challenge, false);
    try {
      const tokens = await refreshAuthorization(found.url, {
        ...(found.metadata && { metadata: found.metadata }),
        clientInformation: clientInformation(login),
        refreshToken: login.refreshToken,
        resource: found.resource,
        fetchFn,
      });
      return await this.write({ ...login, ...issuedTokens(tokens, login) });
    } catch (error) {
      const now = await this.read();
      // A second process used the refresh token first, and has stored the new tokens.
      if (now?.refreshToken !== undefined && now.refreshToken !== login.refreshToken) return;
      if (!OAuthError.isInstance(error)) throw error;
      const { accessToken: _old, refreshToken: _refused, ...rest } = login;
      await this.write(rest);
    }
    throw new LoginNeededError(challenge, false);
  }

  #hide(login: McpLogin | undefined): void {
    for (const secret of [login?.accessToken, login?.refreshToken, login?.clientSecret]) {
      if (secret === undefined) continue;
      // The newest secrets stay in the set.
      this.secrets.delete(secret);
      this.secrets.add(secret);
    }
    for (const secret of this.secrets) {
      if (this.secrets.size <= maxSecrets) break;
      this.secrets.delete(secret);
    }
  }
}
