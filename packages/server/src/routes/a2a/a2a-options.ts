/**
 * What the A2A endpoints show about the agents.
 *
 * @example
 * createServer({ tokens, agents, a2a: { agent: 'helper', url: 'https://agents.example' } });
 */
export interface A2aOptions {
  /**
   * The name of the agent whose card is at `/.well-known/agent-card.json`. Default: the only agent loop of the
   * server. If there are several, only their own cards exist.
   */
  readonly agent?: string | undefined;
  /**
   * The URL at which clients reach the server, for example `https://agents.example`, with the path of a proxy.
   * Default: the host of the request, with `http`, or `https` if `X-Forwarded-Proto` says so.
   */
  readonly url?: string | undefined;
  /** True if cards need no token. All other requests still need one. Default: false. */
  readonly publicCards?: boolean | undefined;
  /** The version of the agents in their cards. Default: `1.0.0`. */
  readonly version?: string | undefined;
}
