import type { JsonObject } from '@millrace/core';
import type { Clock } from '@millrace/log';
import type { LoopAgent, ServedAgent } from '../contract/served-agent.ts';
import { ServerError } from '../contract/server-error.ts';
import type { AgentInfo } from '../contract/task.ts';
import type { AgentNetwork } from '../network/agent-network.ts';
import type { AgentKeys } from '../stores/agent-keys.ts';
import type { AgentStore, StoredAgent } from './agent-store.ts';
import { type RemoteAgent, remoteAgent } from './remote/remote-agent.ts';
import type { RemoteLimits } from './remote/remote-call.ts';

export interface ResolvedAgent {
  readonly info: AgentInfo;
  readonly agent: ServedAgent | RemoteAgent;
}

interface DirectoryOptions {
  readonly rows: AgentStore;
  readonly served: readonly ServedAgent[];
  readonly keys: AgentKeys;
  readonly network: AgentNetwork;
  readonly clock: Clock;
  readonly onDiagnostic: (problem: string) => void;
  readonly limits?: RemoteLimits | undefined;
}

const namePattern = /^[a-z0-9-]{1,256}$/;

/** Finds agents by id. It returns an agent of this process, or a proxy for a remote agent. */
export class AgentDirectory {
  readonly #options: DirectoryOptions;
  readonly #byName: ReadonlyMap<string, ServedAgent>;

  constructor(options: DirectoryOptions) {
    this.#options = options;
    for (const { name } of options.served) assertName(name);
    this.#byName = new Map(options.served.map((agent) => [agent.name, agent]));
    if (this.#byName.size !== options.served.length)
      throw new ServerError('conflict', 'Cannot serve two agents with the same name. Rename one');
  }

  /** Writes one row to the row store for each agent that runs in this process. */
  async start(): Promise<void> {
    const appAgents = new Set(
      this.#options.served.map((agent) => (agent.type === 'loop' ? agent.appAgent : undefined)),
    );
    for (const agent of this.#byName.values()) {
      const { name, description = '', type } = agent;
      const models = agent.type === 'loop' ? agent.models : undefined;
      const acp_type = type === 'async' ? 'async' : 'sync';
      const accepts = agent.type === 'loop' && agent.agent.callerOptions === 'accept';
      const registration_metadata = {
        kind: type,
        ...(models && { models }),
        ...(accepts && { caller_options: 'accept' }),
        ...(agent.type === 'loop' && agent.appAgent && { app_agent: agent.appAgent }),
        ...(appAgents.has(name) && { only_app_calls: true }),
        ...(agent.type === 'loop' && agent.offers && { tools: offeredTools(agent) }),
      };
      await this.#options.rows.registerLocal({
        name,
        description,
        acp_type,
        registration_metadata,
      });
    }
  }

  isLocal(name: string): boolean {
    return this.#byName.has(name);
  }

  /**
   * Returns the agent with this id. Returns undefined if the agent does not exist or if no process runs it.
   */
  async find(agentId: string): Promise<ResolvedAgent | undefined> {
    const stored = await this.#options.rows.find({ id: agentId });
    const agent = stored && this.#resolve(stored);
    return agent && { info: stored.info, agent };
  }

  /** Returns the agent with this id. Throws if the agent does not exist or if no process runs it. */
  async get(agentId: string): Promise<ResolvedAgent> {
    const stored = await this.#options.rows.get({ id: agentId });
    const agent = this.#resolve(stored);
    if (agent === undefined) throw notRunning(stored.info);
    return { info: stored.info, agent };
  }

  #resolve({ info, url, locality, key }: StoredAgent): ResolvedAgent['agent'] | undefined {
    const local = this.#byName.get(info.name);
    if (local !== undefined || url === null) return local;
    const { keys, network, clock, onDiagnostic, limits } = this.#options;
    const { generation } = key;
    const endpoint = {
      url,
      key: keys.keyOf(info.id, generation),
      network: network.within(locality),
    };
    return remoteAgent({ info, endpoint, clock, onDiagnostic, limits });
  }
}

/** Returns the tools of an agent that clients call directly, as the row of the agent stores them. */
function offeredTools({ offers = [], longTools = [], needs = {} }: LoopAgent): JsonObject[] {
  return offers.map(({ name, description, inputSchema, effects }) => {
    const long = longTools
      .map((one) => (typeof one === 'string' ? { name: one } : one))
      .find((one) => one.name === name);
    return {
      ...{ name, description, input_schema: inputSchema, effects },
      ...(long && { is_long: true }),
      ...(long?.needsTask && { needs_task: true }),
      ...(long?.asksFirst && { asks_first: true }),
      ...(Object.hasOwn(needs, name) && { needs: [...(needs[name] ?? [])] }),
    };
  });
}

function assertName(name: string): void {
  if (namePattern.test(name)) return;
  const message =
    'Cannot serve an agent with this name: use only lower case letters, digits and hyphens, at most 256';
  throw new ServerError('invalid', message);
}

function notRunning({ id, name }: AgentInfo): ServerError {
  const message = `Cannot use agent ${name}: it is not running here. Register it, or serve it`;
  return new ServerError('unavailable', message, { agent: id });
}
