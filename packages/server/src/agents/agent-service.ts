import type { Rows } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type { AgentService } from '../contract/service.ts';
import { type AgentNetwork, isMoreLocal } from '../network/agent-network.ts';
import { type AgentKeys, markKeyRevoked } from '../stores/agent-keys.ts';
import type { TaskStore } from '../stores/task-store.ts';
import { deleteTokensOf, fromTokenRow, type StoredToken } from '../stores/token-rows.ts';
import type { AgentDirectory } from './agent-directory.ts';
import type { AgentStore, StoredAgent } from './agent-store.ts';

interface AgentServiceOptions {
  readonly rows: Rows;
  readonly agents: AgentStore;
  readonly tasks: TaskStore;
  readonly directory: AgentDirectory;
  readonly keys: AgentKeys;
  readonly network: AgentNetwork;
  /** Called after a token of an agent was revoked. */
  readonly onTokenRevoked: (id: string) => void;
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
      // Deletes the tokens of the deleted agent's clients. A new agent with the same name must not accept
      // them.
      for (const token of await deleteTokensOf(rows, { agent_id: id }))
        options.onTokenRevoked(token);
      return { id, message: `Agent ${info.name} was deleted` };
    },
    async registerBuild(body) {
      if (directory.isLocal(body.name)) throw ownAgentError(body.name);
      return agents.registerBuild(body);
    },
    async register(body, { keyId, issuerId } = {}) {
      const { name, acp_url: url } = body;
      if (directory.isLocal(name)) throw ownAgentError(name);
      const locality = await network.assertUrl(url);
      // The lookup of the address can take long, and the caller may have lost its rights meanwhile.
      const { info, key } = await agents.register(body, async (replaced) => {
        if (keyId === undefined) {
          await assertIssuer(rows, name, issuerId);
          return locality;
        }
        if (!isOwnKey(keys, keyId, replaced)) throw endedKeyError(name);
        if (isSameHost(url, replaced.url)) return replaced.locality;
        if (isMoreLocal(locality, replaced.locality)) throw movedAgentError(name);
        return locality;
      });
      await storeKey(options, { info, key }, issuerId);
      return { ...info, agent_api_key: keys.keyOf(info.id, key.generation) };
    },
  };
}

/** Throws if the token that registers an agent was revoked. */
async function assertIssuer(rows: Rows, name: string, issuerId: string | undefined): Promise<void> {
  if (issuerId === undefined || (await rows.get('tokens', issuerId)) !== undefined) return;
  throw endedKeyError(name);
}

/** Returns true if a key is the current key of an agent that exists. */
function isOwnKey(
  keys: AgentKeys,
  keyId: string,
  agent: StoredAgent | undefined,
): agent is StoredAgent {
  if (agent === undefined || agent.info.status === 'Deleted' || agent.key.isRevoked) return false;
  return keys.tokenRow(agent.info.id, agent.key.generation, null).id === keyId;
}

function isSameHost(url: string, other: string | null): boolean {
  if (other === null || !URL.canParse(other)) return false;
  return new URL(url).hostname === new URL(other).hostname;
}

/**
 * Stores the agent's new key and deletes the agent's older keys. The key keeps its issuer if an operator or the
 * agent itself registers the agent again, because the issuer has received the same key.
 */
async function storeKey(
  { rows, agents, keys, onTokenRevoked }: AgentServiceOptions,
  { info: { id, name }, key }: Pick<StoredAgent, 'info' | 'key'>,
  issuerId?: string,
): Promise<void> {
  const { id: keyId } = keys.tokenRow(id, key.generation, null);
  const stored = await rows.get('tokens', keyId);
  const issuer = issuerId ?? (stored && fromTokenRow(stored)?.issuerId) ?? null;
  const row = keys.tokenRow(id, key.generation, issuer);
  const isOther = (token: StoredToken) => token.isAgentKey && token.id !== row.id;
  for (const token of await deleteTokensOf(rows, { agent_id: id }, isOther)) onTokenRevoked(token);
  await rows.put('tokens', row);
  // A concurrent request may have revoked the key before this function stored the row.
  const now = (await agents.find({ id }))?.key;
  const hasIssuer = issuer === null || (await rows.get('tokens', issuer)) !== undefined;
  const isCurrent = now !== undefined && !now.isRevoked && now.generation === key.generation;
  if (isCurrent && hasIssuer) return;
  if (!hasIssuer) await markKeyRevoked(rows, id);
  await rows.delete('tokens', row.id);
  onTokenRevoked(row.id);
  const message = `Cannot register agent ${name}: its key was revoked at the same time. Register it again`;
  throw new ServerError('conflict', message, { agent: id });
}

function endedKeyError(name: string): ServerError {
  const message = `Cannot register agent ${name}: your access was revoked, or the agent was deleted. Register it with an operator token`;
  return new ServerError('unauthorized', message, { name });
}

function movedAgentError(name: string): ServerError {
  const message = `Cannot register agent ${name}: with its own key, an agent cannot move to a private address or to this machine. Register it with an operator token`;
  return new ServerError('forbidden', message, { name });
}

function ownAgentError(name: string): ServerError {
  const message = `Cannot change agent ${name}: it is built into the server. Use another name`;
  return new ServerError('conflict', message, { name });
}
