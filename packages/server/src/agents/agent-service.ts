import type { Rows } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type { AgentService } from '../contract/service.ts';
import type { AgentNetwork } from '../network/agent-network.ts';
import type { TaskStore } from '../stores/task-store.ts';
import type { AgentDirectory, AgentKeys } from './agent-directory.ts';
import type { AgentStore } from './agent-store.ts';

interface AgentServiceOptions {
  readonly rows: Rows;
  readonly agents: AgentStore;
  readonly tasks: TaskStore;
  readonly directory: AgentDirectory;
  readonly keys: AgentKeys;
  readonly network: AgentNetwork;
}

export function agentService(options: AgentServiceOptions): AgentService {
  const { rows, agents, tasks, directory, keys, network } = options;
  return {
    async list({ taskId, ...page }) {
      if (taskId === undefined) return agents.list(page);
      const { agentId } = await tasks.get({ id: taskId });
      const stored = await agents.find({ id: agentId });
      return { data: stored === undefined ? [] : [stored.info], next: null };
    },
    get: async (ref) => (await agents.get(ref)).info,
    async delete(id) {
      const { info } = await agents.get({ id });
      if (directory.isLocal(info.name)) throw ownAgentError(info.name);
      await agents.setStatus(id, 'Deleted', null);
      await rows.delete('tokens', keys.tokenRow(id).id);
      return { id, message: `Agent ${info.name} was deleted` };
    },
    async registerBuild(body) {
      if (directory.isLocal(body.name)) throw ownAgentError(body.name);
      return agents.registerBuild(body);
    },
    async register(body) {
      if (directory.isLocal(body.name)) throw ownAgentError(body.name);
      await network.assertUrl(body.acp_url);
      const { info } = await agents.register(body);
      await rows.put('tokens', keys.tokenRow(info.id));
      return { ...info, agent_api_key: keys.keyOf(info.id) };
    },
  };
}

function ownAgentError(name: string): ServerError {
  const message = `Cannot change agent ${name}: it is built into the server. Use another name`;
  return new ServerError('conflict', message, { name });
}
