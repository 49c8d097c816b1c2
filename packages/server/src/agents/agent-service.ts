import { BlockList, isIP } from 'node:net';
import type { Rows } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type { AgentService } from '../contract/service.ts';
import type { TaskStore } from '../stores/task-store.ts';
import type { AgentDirectory, AgentKeys } from './agent-directory.ts';
import type { AgentStore } from './agent-store.ts';

interface AgentServiceOptions {
  readonly rows: Rows;
  readonly agents: AgentStore;
  readonly tasks: TaskStore;
  readonly directory: AgentDirectory;
  readonly keys: AgentKeys;
}

export function agentService(options: AgentServiceOptions): AgentService {
  const { rows, agents, tasks, directory, keys } = options;
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
      assertRemoteUrl(body.acp_url);
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

/**
 * Addresses that no agent can have, such as multicast, and those where clouds serve credentials to
 * a machine. Loopback and private networks are allowed, because agents run there and registering
 * requires a token if any is configured. Host names are not resolved; restrict them in the network.
 */
const forbiddenAddresses = new BlockList();
forbiddenAddresses.addSubnet('169.254.0.0', 16);
forbiddenAddresses.addAddress('100.100.100.200');
forbiddenAddresses.addAddress('192.0.0.192');
forbiddenAddresses.addSubnet('224.0.0.0', 3);
forbiddenAddresses.addSubnet('fe80::', 10, 'ipv6');
forbiddenAddresses.addSubnet('ff00::', 8, 'ipv6');
forbiddenAddresses.addSubnet('fd00:ec2::', 32, 'ipv6');

const forbiddenNames = new Set(['metadata', 'metadata.google.internal', 'instance-data']);

/** Throws if the server cannot or must not call an agent at this URL. */
function assertRemoteUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  // A query or a fragment would hide the path that is appended to the URL.
  const isPlain = isHttp && !/[?#]/.test(text) && url.username === '' && url.password === '';
  if (!isPlain) {
    const message =
      'Cannot register the agent: acp_url must be an http or https URL without user, query and fragment';
    throw new ServerError('invalid', message);
  }
  if (!isForbidden(url.hostname)) return;
  const message =
    'Cannot register the agent: the host of acp_url is a link-local, multicast or metadata address. Use the address at which the agent listens';
  throw new ServerError('invalid', message);
}

function isForbidden(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const version = isIP(host);
  if (version === 0) return forbiddenNames.has(host);
  return forbiddenAddresses.check(host, version === 6 ? 'ipv6' : 'ipv4');
}
