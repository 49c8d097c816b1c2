import type { JsonObject } from '@millrace/core';

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
   * Default: the host of the request, with `https` if `X-Forwarded-Proto` contains it, or if a trusted proxy sends
   * a host name without this header. Otherwise with `http`.
   */
  readonly url?: string | undefined;
  /** True if cards need no token. All other requests still need one. Default: false. */
  readonly publicCards?: boolean | undefined;
  /**
   * The networks to which the server sends push notifications: `loopback`, `private`, `public`, and networks such
   * as `10.1.0.0/16`. Every client that can write to a task chooses an address. Default: `public`.
   */
  readonly pushNetworks?: readonly string[] | undefined;
  /** The version of the agents in their cards. Default: `1.0.0`. */
  readonly version?: string | undefined;
}

/** What the objects of a task need to refer to it. */
export interface TaskPlace {
  /** The id of the session. */
  readonly sessionId: string;
  /** The id of the task of A2A. */
  readonly taskId: string;
  readonly contextId: string;
  /** The URL of the server, without a slash at its end. Links to files start with it. */
  readonly base: string;
}

/** The caller that creates a push configuration. */
export interface PushCaller {
  /** The name of the caller: its token, its user or its address. */
  readonly caller: string;
  /** The time at which the configuration ends, in milliseconds since 1970. Default: it ends with its caller. */
  readonly expiresAt: number | undefined;
  readonly isRestricted: boolean;
}

/** A push configuration: the address that receives the updates of one task. */
export interface PushConfig extends Omit<PushCaller, 'isRestricted'> {
  readonly id: string;
  readonly place: TaskPlace;
  readonly url: string;
  readonly token: string | undefined;
  readonly scheme: string | undefined;
  readonly credentials: string | undefined;
  /** The last status that the address has received. */
  readonly sent: string;
  /** The status that a server sends now. After a crash it is sent again. */
  readonly sending: string;
  readonly version: number;
}

/** Stores push configurations, and sends the status of their tasks. */
export interface PushSender {
  readonly configs: {
    /** Stores a configuration. A configuration with the same id is replaced. `sent` is the current status. */
    create(
      place: TaskPlace,
      params: JsonObject,
      caller: PushCaller,
      sent: string,
    ): Promise<PushConfig>;
    get(place: TaskPlace, id: string | undefined): Promise<PushConfig>;
    find(place: TaskPlace, id: string | undefined): Promise<PushConfig | undefined>;
    list(place: TaskPlace): Promise<readonly PushConfig[]>;
    delete(place: TaskPlace, id: string | undefined): Promise<void>;
  };
  /** Throws if the caller cannot add a configuration. */
  assertCapacity(caller: PushCaller): void;
  /** Follows the task of a configuration until its end. */
  follow(config: PushConfig): void;
}
