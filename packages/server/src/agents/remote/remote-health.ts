import { ByteCollector, type JsonObject, parseJson } from '@millrace/core';
import type { Clock } from '@millrace/log';
import { errorReason, ServerError } from '../../contract/server-error.ts';
import type { AgentNetwork, ConnectionPolicy } from '../../network/agent-network.ts';
import { agentAddress, requestAgent } from '../../network/agent-request.ts';
import type { AgentStore, StoredAgent } from '../agent-store.ts';

interface HealthOptions {
  readonly agents: AgentStore;
  readonly network: AgentNetwork;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly timeoutMs: number;
  readonly onDiagnostic: (problem: string) => void;
}

/**
 * The maximum size of a health response in bytes. The constant below limits the number of parallel checks.
 */
const maxBytes = 65_536;
const concurrency = 16;

/** Checks the health of remote agents regularly. */
export class RemoteHealth {
  readonly #options: HealthOptions;
  #cancel: () => void = () => {};
  #isStopped = false;
  #checking: Promise<void> = Promise.resolve();

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, everyMs } = this.#options;
    if (this.#isStopped) return;
    const checkAgain = () => {
      this.#checking = this.check().then(() => this.start());
    };
    this.#cancel = clock.after(everyMs, checkAgain, { isIdle: true });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#checking;
  }

  /** Checks all remote agents once. */
  async check(): Promise<void> {
    const { agents, onDiagnostic } = this.#options;
    try {
      const all = await agents.listRemote();
      for (let from = 0; from < all.length; from += concurrency)
        await Promise.all(
          all.slice(from, from + concurrency).map((agent) => this.#checkOne(agent)),
        );
    } catch (error) {
      onDiagnostic(`Cannot check the health of remote agents: ${errorReason(error)}`);
    }
  }

  async #checkOne({ info, url, locality }: StoredAgent): Promise<void> {
    if (url === null || this.#isStopped) return;
    const { agents, network } = this.#options;
    const problem = await this.#problemWith(info.id, url, network.within(locality));
    if (problem === undefined) await agents.setStatus(info.id, 'Ready', null);
    else await agents.setStatus(info.id, 'Unhealthy', problem);
  }

  async #problemWith(
    agentId: string,
    url: string,
    network: ConnectionPolicy,
  ): Promise<string | undefined> {
    const { clock, timeoutMs } = this.#options;
    const controller = new AbortController();
    const cancel = clock.after(timeoutMs, () => controller.abort(), { isIdle: true });
    try {
      const { signal } = controller;
      const at = agentAddress(url, '/healthz');
      const response = await requestAgent(at, { method: 'GET', signal }, network);
      const text = await textOf(response);
      if (response.statusCode !== 200) return `Its health check returned ${response.statusCode}`;
      const parsed = parseJson(text);
      const reportedId = parsed.ok ? ((parsed.value ?? {}) as JsonObject)['agent_id'] : undefined;
      const isAnother = typeof reportedId === 'string' && reportedId !== agentId;
      return isAnother ? 'Another agent responds to its health check' : undefined;
    } catch (error) {
      if (error instanceof ServerError) return error.message;
      return controller.signal.aborted
        ? `Its health check did not respond within ${timeoutMs} ms`
        : 'Its health check cannot be reached';
    } finally {
      cancel();
    }
  }
}

async function textOf(response: AsyncIterable<Uint8Array>): Promise<string> {
  const collected = new ByteCollector();
  for await (const piece of response) {
    if (collected.length + piece.length > maxBytes) break;
    collected.add(piece);
  }
  return new TextDecoder().decode(collected.toBytes());
}
