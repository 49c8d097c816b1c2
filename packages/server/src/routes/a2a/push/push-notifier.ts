import type { JsonObject } from '@millrace/core';
import type { Clock, Log } from '@millrace/log';
import type { Rows } from '../../../contract/rows.ts';
import { diagnosticLine } from '../../../contract/server-error.ts';
import type { AgentNetwork } from '../../../network/agent-network.ts';
import { requestAgent } from '../../../network/agent-request.ts';
import { field } from '../../mcp/protocol/rpc-message.ts';
import { parseTaskId } from '../../mcp/protocol/run-ref.ts';
import { readQuestion } from '../../openai/response-log.ts';
import type { PushConfig, PushSender } from '../contract.ts';
import { followTask, isTerminal } from '../follow-task.ts';
import type { A2aTask } from '../open-task.ts';
import { a2aJson } from '../protocol/a2a-error.ts';
import { PushConfigs } from './push-configs.ts';

interface NotifierOptions {
  readonly rows: Rows;
  readonly log: Log;
  readonly clock: Clock;
  /** Decides to which addresses the server may connect. */
  readonly network: AgentNetwork;
  readonly onDiagnostic?: ((problem: string) => void) | undefined;
}

/** Maximum number of configurations that one server follows. */
const maxFollowed = 1000;
const timeoutMs = 15_000;
/** Maximum number of attempts to deliver one status. */
const maxTries = 3;
const retryMs = 1000;

/**
 * Sends the status of tasks to the addresses that clients configured. A server that restarts continues, and
 * sends a status again if it may not have arrived.
 */
export class PushNotifier implements PushSender {
  readonly configs: PushConfigs;
  readonly #options: NotifierOptions;
  readonly #closing = new AbortController();
  readonly #followed = new Map<string, AbortController>();

  constructor(options: NotifierOptions) {
    this.#options = options;
    this.configs = new PushConfigs(options.rows, options.network);
  }

  /** Continues with the configurations of earlier processes. */
  async start(): Promise<void> {
    for (const config of await this.configs.open(maxFollowed)) this.follow(config);
  }

  close(): void {
    this.#closing.abort();
  }

  /** Follows the task of a configuration until its end. */
  follow(config: PushConfig): void {
    const key = `${config.place.taskId}/${config.id}`;
    this.#followed.get(key)?.abort();
    if (this.#followed.size >= maxFollowed) return this.#report(config, 'too many are followed');
    const stopped = new AbortController();
    this.#followed.set(key, stopped);
    const signal = AbortSignal.any([stopped.signal, this.#closing.signal]);
    this.#deliverAll(config, signal)
      .catch((error: unknown) => {
        if (!signal.aborted) this.#report(config, (error as Error).name);
      })
      .finally(() => {
        if (this.#followed.get(key) === stopped) this.#followed.delete(key);
      });
  }

  async #deliverAll(first: PushConfig, signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const task = await this.#taskOf(first);
    if (task === undefined) return this.configs.delete(first.place, first.id);
    let config: PushConfig | undefined = first;
    const options = { historyLength: 0, hasArtifacts: false, stopsWhenAsked: false };
    for await (const event of followTask(task, options, { log }, signal)) {
      const status = field(event['task'] ?? event['statusUpdate'], 'status');
      const key = statusKey(status as JsonObject | undefined);
      if (signal.aborted || key === undefined || key === config.sent) continue;
      const { taskId, contextId } = config.place;
      const update = { statusUpdate: { taskId, contextId, status: status ?? null } };
      config = await this.#deliver(config, key, update, signal);
      // The configuration was deleted, or another server delivers its updates.
      if (config === undefined) return;
    }
    const { sent } = config;
    if (!signal.aborted && sent !== first.sent && isTerminal(sent))
      await this.configs.delete(config.place, config.id);
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

/** Returns a key for a status. Two questions of one task have different keys. */
export function statusKey(status: JsonObject | undefined): string | undefined {
  const { state, timestamp } = status ?? {};
  if (typeof state !== 'string') return undefined;
  return state === 'TASK_STATE_INPUT_REQUIRED' ? `${state}@${timestamp}` : state;
}
