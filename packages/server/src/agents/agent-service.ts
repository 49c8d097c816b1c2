import type { Rows } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type { AgentService } from '../contract/service.ts';
import type { TaskRows } from '../tasks/task-rows.ts';
import type { AgentDirectory } from './agent-directory.ts';
import type { AgentKeys } from './agent-keys.ts';
import type { AgentRows } from './agent-rows.ts';
import { assertRemoteUrl } from './remote-url.ts';

export interface AgentServiceOptions {
  readonly rows: Rows;
  readonly agents: AgentRows;
  readonly tasks: TaskRows;
  readonly directory: AgentDirectory;
  readonly keys: AgentKeys;
}

export function agentService(options: AgentServiceOptions): AgentService {
  const { rows, agents, tasks, directory, keys } = options;
  return {
    async list({ taskId, ...page }) {
      if (taskId === undefined) return agents.list(page);
      const { agentId } = await tasks.get({ id: taskId });
      const kept = await agents.find({ id: agentId });
      return { data: kept === undefined ? [] : [kept.info], next: null };
    },
    get: async (ref) => (await agents.get(ref)).info,
    async delete(id) {
      const { info } = await agents.get({ id });
      if (directory.isLocal(info.name)) throw served(info.name);
      await agents.setStatus(id, 'Deleted', null);
      await rows.delete('tokens', keys.tokenRow(id).id);
      return { id, message: `Agent ${info.name} was deleted` };
    },
    async registerBuild(body) {
      if (directory.isLocal(body.name)) throw served(body.name);
      return agents.build(body);
    },
    async register(body) {
      if (directory.isLocal(body.name)) throw served(body.name);
      assertRemoteUrl(body.acp_url);
      const { info } = await agents.register(body);
      await rows.put('tokens', keys.tokenRow(info.id));
      return { ...info, agent_api_key: keys.keyOf(info.id) };
    },
  };
}

function served(name: string): ServerError {
  const message = `Cannot change agent ${name}: it is one of the server's own. Use another name`;
  return new ServerError('conflict', message, { name });
}
