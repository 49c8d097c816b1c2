import type { JsonObject } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { Rows } from '../../../contract/rows.ts';
import { diagnosticLine, ServerError } from '../../../contract/server-error.ts';
import { callerOfToken, tokenOfCaller } from '../../../http/access/check-access.ts';
import { shareOf } from '../../../http/access/fair-share.ts';
import type { TokenStore } from '../../../http/access/token-store.ts';
import { ReadQueue } from '../../../http/replies/reply-turns.ts';
import type { AgentNetwork } from '../../../network/agent-network.ts';
import { requestAgent } from '../../../network/agent-request.ts';
import { parseTaskId } from '../../mcp/protocol/run-ref.ts';
import { readQuestion } from '../../openai/response-log.ts';
import type { PushCaller, PushConfig, PushSender } from '../contract.ts';
import type { A2aTask } from '../open-task.ts';
import { a2aJson } from '../protocol/a2a-error.ts';
import { isTerminal } from '../protocol/task-state.ts';
import { PushConfigs } from './push-configs.ts';
import { followStatuses, statusKey } from './task-statuses.ts';

interface NotifierOptions {
  readonly rows: Rows;
  readonly log: Log;
  readonly clock: Clock;
  /** Decides to which addresses the server may connect. */
  readonly network: AgentNetwork;
  /** The tokens of the callers. A configuration ends with the token that created it. */
  readonly tokens: Pick<TokenStore, 'isRequired' | 'isValid' | 'onRevoked'>;
  /** Returns whether a session exists. */
  readonly hasSession: (id: string) => Promise<boolean>;
  readonly onDiagnostic?: ((problem: string) => void) | undefined;
}

/** Maximum number of configurations that one server follows. */
const maxFollowed = 1000;
const timeoutMs = 15_000;
/** Maximum number of attempts to deliver one status. */
const maxTries = 3;
const retryMs = 1000;

interface FollowedConfig {
  readonly config: PushConfig;
  readonly stopped: AbortController;
}

/**
 * Sends the status of tasks to the addresses that clients configured. A server that restarts continues, and
 * sends a status again if it may not have arrived.
 */
export class PushNotifier implements PushSender {
  readonly configs: PushConfigs;
  readonly #options: NotifierOptions;
  readonly #closing = new AbortController();
  readonly #followed = new Map<string, FollowedConfig>();
  readonly #reads = new ReadQueue();

  constructor(options: NotifierOptions) {
    this.#options = options;
    this.configs = new PushConfigs(options.rows, options.network);
    options.tokens.onRevoked((id) => this.#stopAll(callerOfToken(id)));
  }

  /** Continues with the configurations of earlier processes. */
  async start(): Promise<void> {
    for (const config of await this.configs.open(maxFollowed)) {
      // An address that has the last status receives nothing more.
      if (isTerminal(config.sent)) await this.configs.delete(config.place, config.id);
      else this.follow(config);
    }
  }

  /** Throws if the caller cannot add a configuration. */
  assertCapacity({ caller, isRestricted }: PushCaller): void {
    const own = [...this.#followed.values()].filter((one) => one.config.caller === caller).length;
    const limit = isRestricted ? shareOf(maxFollowed) : maxFollowed;
    if (own < limit && this.#followed.size < maxFollowed) return;
    const message = 'Cannot add a push configuration: too many tasks are followed. Retry later';
    throw new ServerError('rate_limited', message, {}, { retryAfterMs: 60_000 });
  }

  /** Ends the configurations of a caller that is no longer admitted. */
  #stopAll(caller: string): void {
    for (const { config, stopped } of [...this.#followed.values()]) {
      if (config.caller !== caller) continue;
      stopped.abort();
      this.#delete(config);
    }
  }

  #delete(config: PushConfig): void {
    this.configs
      .delete(config.place, config.id)
      .catch((error: unknown) => this.#report(config, (error as Error).name));
  }

  close(): void {
    this.#closing.abort();
  }

  /** Follows the task of a configuration until its end. */
  follow(config: PushConfig): void {
    const key = `${config.place.taskId}/${config.id}`;
    this.#followed.get(key)?.stopped.abort();
    if (this.#followed.size >= maxFollowed) return this.#report(config, 'too many are followed');
    const stopped = new AbortController();
    this.#followed.set(key, { config, stopped });
    const signal = AbortSignal.any([stopped.signal, this.#closing.signal]);
    this.#deliverAll(config, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#report(config, (error as Error).name);
      })
      .finally(() => {
        if (this.#followed.get(key)?.stopped === stopped) this.#followed.delete(key);
      });
  }

  async #deliverAll(first: PushConfig, signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const task = await this.#taskOf(first);
    if (task === undefined) return this.configs.delete(first.place, first.id);
    let config: PushConfig | undefined = first;
    const options = { log, signal, reads: this.#reads };
    for await (const status of followStatuses(task, first.sent, options)) {
      const key = statusKey(status);
      if (signal.aborted || key === undefined || key === config.sent) continue;
      if (!(await this.#isAdmitted(config))) return this.configs.delete(config.place, config.id);
      const { taskId, contextId } = config.place;
      const update = { statusUpdate: { taskId, contextId, status } };
      config = await this.#deliver(config, key, update, signal);
      // The configuration was deleted, or another server delivers its updates.
      if (config === undefined) return;
    }
    const { sent } = config;
    if (!signal.aborted && sent !== first.sent && isTerminal(sent))
      await this.configs.delete(config.place, config.id);
  }

  /** Returns whether the caller of a configuration could still read its task. */
  async #isAdmitted({ caller, expiresAt, place }: PushConfig): Promise<boolean> {
    const { tokens, clock, hasSession } = this.#options;
    if (expiresAt !== undefined && expiresAt <= clock.now()) return false;
    if (!(await hasSession(place.sessionId))) return false;
    const token = tokenOfCaller(caller);
    if (token !== undefined) return tokens.isValid(token);
    // A user has a time of expiry. All other callers need a server without tokens.
    return caller.startsWith('user ') || !tokens.isRequired;
  }

  async #taskOf({ place }: PushConfig): Promise<A2aTask | undefined> {
    const ref = parseTaskId(place.taskId);
    if (ref === undefined || (await this.#options.log.info(ref.taskId)) === undefined)
      return undefined;
    return { place, question: await readQuestion(ref, this.#options.log) };
  }

  /** Delivers one status. It stores what it sends before and after, so that a crash loses nothing. */
  async #deliver(
    config: PushConfig,
    key: string,
    event: JsonObject,
    signal: AbortSignal,
  ): Promise<PushConfig | undefined> {
    const marked = await this.configs.mark(config, { sending: key });
    if (marked === undefined) return undefined;
    for (let tries = 1; !signal.aborted; tries++) {
      const problem = await this.#post(marked, event, signal);
      if (problem === undefined) break;
      if (tries < maxTries) await this.#pause(retryMs * tries, signal);
      else {
        this.#report(config, problem);
        break;
      }
    }
    return signal.aborted ? undefined : this.configs.mark(marked, { sent: key });
  }

  /** Sends a request. Returns why it failed. */
  async #post(config: PushConfig, event: JsonObject, signal: AbortSignal) {
    const { url, token, scheme, credentials } = config;
    const late = new AbortController();
    const stop = this.#options.clock.after(timeoutMs, () => late.abort(), { isIdle: true });
    try {
      const response = await requestAgent(
        url,
        {
          ...{ method: 'POST', body: JSON.stringify(event) },
          headers: {
            'content-type': a2aJson,
            'a2a-version': '1.0',
            ...(token !== undefined && { 'x-a2a-notification-token': token }),
            ...(scheme !== undefined && { authorization: `${scheme} ${credentials ?? ''}`.trim() }),
          },
          signal: AbortSignal.any([signal, late.signal]),
        },
        this.#options.network,
      );
      response.destroy();
      const { statusCode = 0 } = response;
      return statusCode >= 200 && statusCode < 300 ? undefined : `HTTP status ${statusCode}`;
    } catch (error) {
      return late.signal.aborted ? 'no response in time' : (error as Error).name;
    } finally {
      stop();
    }
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = this.#options.clock.after(ms, resolve, { isIdle: true });
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    stop();
  }

  #report({ place }: PushConfig, why: string): void {
    const line = `Cannot send a push notification of task ${place.taskId}: ${why}`;
    this.#options.onDiagnostic?.(diagnosticLine(line));
  }
}
