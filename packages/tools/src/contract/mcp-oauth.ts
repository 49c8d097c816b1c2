import type { JsonObject } from '@millrace/core';

/** How a client logs in to an MCP server with OAuth 2.1. */
export interface McpOAuth {
  /** Stores registrations and tokens. See `fileMcpLogins` and `memoryMcpLogins`. */
  readonly logins: McpLogins;
  /**
   * Shows a login page to the user. If it is set, `connectMcp` and tool calls log in when the server asks for
   * it, and wait for the user. Default: they fail with the code `login_required`. Then call `loginMcp`.
   */
  readonly openPage?: OpenLoginPage | undefined;
  /**
   * The id of this client, if the operator of the authorization server gave you one. Default: the client uses
   * `clientMetadataUrl`, or registers itself.
   */
  readonly clientId?: string | undefined;
  /** The secret for `clientId`. Default: the client has no secret. */
  readonly clientSecret?: string | undefined;
  /**
   * `user`: a user logs in on a page. `program`: this program logs in as itself, with `clientId` and with
   * `clientSecret` or `privateKey`. No page is opened, and `connectMcp` and tool calls log in when the server asks
   * for it. Default: `user`.
   */
  readonly as?: 'user' | 'program' | undefined;
  /**
   * The private key for `clientId` in the PEM format, for a login as `program`: an RSA key, an Ed25519 key or a
   * P-256 key. The key stays in this process, which sends only signed texts. Default: `clientSecret` is used.
   */
  readonly privateKey?: string | undefined;
  /**
   * The https address of a document that describes this client. The client uses the address as its id if the
   * authorization server supports that. Default: the client registers itself.
   */
  readonly clientMetadataUrl?: string | undefined;
  /** Scopes to ask for, separated by spaces. Default: the scopes that the server names. */
  readonly scope?: string | undefined;
  /** The port on 127.0.0.1 to which the browser returns. Default: a free port. */
  readonly redirectPort?: number | undefined;
  /**
   * If true, login requests can reach private networks, but not this machine. Set it for servers of a company
   * network whose URL contains a host name. Default: only public addresses, unless the server itself is on this
   * machine or its URL contains a private IP address.
   */
  readonly privateNetwork?: boolean | undefined;
}

/** Shows a login page. The login waits until the user has finished there. */
export type OpenLoginPage = (page: McpLoginPage) => void | Promise<void>;

/** A page on which the user logs in. */
export interface McpLoginPage {
  /** The name of the MCP server. */
  readonly server: string;
  /** The authorization server that gets the result of the login. Show its host if `url` has another host. */
  readonly issuer: string;
  /** The page to open. It is always an http or https address. */
  readonly url: string;
  /**
   * An address on this machine that leads to `url`. Use it to start a browser, because other users of the machine can
   * read the arguments of programs. Undefined if the page belongs to another device.
   */
  readonly startUrl?: string | undefined;
  /** The code that the user enters on the page. Undefined if the browser returns to this program. */
  readonly userCode?: string | undefined;
}

/** A login to one MCP server. It contains secrets. */
export interface McpLogin {
  /** The authorization server. Tokens are sent to no other one. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** How the client authenticates at the token endpoint. */
  readonly authMethod?: string | undefined;
  /** The address to which the browser returns, as it was registered. */
  readonly redirectUri?: string | undefined;
  readonly accessToken?: string | undefined;
  readonly refreshToken?: string | undefined;
  /** The granted scopes. */
  readonly scope?: string | undefined;
  /** Scopes that a call needed and that were not granted. The next login asks for them. */
  readonly neededScope?: string | undefined;
}

/** Stores the login of each MCP server. */
export interface McpLogins {
  /** Returns the login for the URL of a server. */
  read(serverUrl: string): Promise<McpLogin | undefined>;
  /** Stores a login. Undefined deletes it. */
  write(serverUrl: string, login: McpLogin | undefined): Promise<void>;
}

/** The fields of `McpLogin`. All of them are texts. */
const loginFields = [
  ...(['issuer', 'clientId', 'clientSecret', 'authMethod', 'redirectUri'] as const),
  ...(['accessToken', 'refreshToken', 'scope', 'neededScope'] as const),
] satisfies readonly (keyof McpLogin)[];

/** Returns the known fields of a stored login. Returns undefined if a required field is missing. */
export function parseLogin(value: JsonObject): McpLogin | undefined {
  const fields = loginFields.flatMap((name) =>
    typeof value[name] === 'string' ? [[name, value[name]] as const] : [],
  );
  const login = Object.fromEntries(fields) as unknown as Partial<McpLogin>;
  const { issuer, clientId } = login;
  return issuer === undefined || clientId === undefined
    ? undefined
    : { ...login, issuer, clientId };
}
