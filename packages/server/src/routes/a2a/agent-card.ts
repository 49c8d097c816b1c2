import { createHash } from 'node:crypto';
import type { JsonObject } from '@millrace/core';
import { ServerError } from '../../contract/server-error.ts';
import type { AgentInfo } from '../../contract/task.ts';
import { Reply, type RouteContext } from '../../http/route.ts';
import { toolsOfAgent } from '../mcp/tool-list.ts';
import { isOffered } from '../openai/open-response.ts';
import { inputModes } from './protocol/messages.ts';
import { protocolVersion } from './protocol/version.ts';

/** Returns the URL of the server, without a slash at its end. */
export function baseUrl({ origin, basePath, a2a }: RouteContext): string {
  return a2a?.url === undefined ? `${origin}${basePath}` : a2a.url.replace(/\/$/, '');
}

/** Finds an agent that the endpoints offer. */
export async function findAgent(name: string, { service }: RouteContext): Promise<AgentInfo> {
  const agent = await service.agents.get({ name });
  if (isOffered(agent)) return agent;
  const message = `Cannot use the agent ${name} with A2A: it is not an agent loop`;
  throw new ServerError('not_found', message);
}

/** Finds the agent of a card. Default: the agent of `/.well-known/agent-card.json`. */
export async function findCardAgent(
  context: RouteContext,
  given = context.a2a?.agent,
): Promise<AgentInfo> {
  const { publicAgents, service } = context;
  if (given !== undefined && publicAgents === undefined) return findAgent(given, context);
  const agents = (await publicAgents?.get()) ?? (await offeredAgents(service));
  const found = given === undefined ? agents : agents.filter(({ name }) => name === given);
  const [only, ...more] = found;
  if (only !== undefined && more.length === 0) return only;
  throw new ServerError(
    'not_found',
    given === undefined
      ? 'Cannot choose the agent of this card: the server has none or several. Use /agents/name/{agent}/a2a/.well-known/agent-card.json, or set the option a2a.agent of the server'
      : `Cannot find the agent ${given}: the server has no agent loop with this name`,
  );
}

/** Returns all agents that the endpoints offer. */
export async function offeredAgents({
  agents,
}: RouteContext['service']): Promise<readonly AgentInfo[]> {
  const page = { limit: 1000, pageNumber: 1, orderBy: 'created_at', direction: 'asc' } as const;
  const found: AgentInfo[] = [];
  for (let cursor: string | undefined; ; ) {
    const { data, next } = await agents.list({ ...page, cursor });
    found.push(...data.filter(isOffered));
    if (next === null) return found;
    cursor = next;
  }
}

/** Returns the reply with the card of an agent. */
export function cardReply(agent: AgentInfo, context: RouteContext): Reply {
  const card = agentCard(agent, context);
  const etag = `"${createHash('sha256').update(JSON.stringify(card)).digest('base64url').slice(0, 22)}"`;
  const scope = context.a2a?.publicCards === true ? 'public' : 'private';
  // The host and the scheme are in the card, so a cache must not share cards between them.
  const vary = 'accept-encoding, host, origin, x-forwarded-host, x-forwarded-proto';
  const headers = { etag, 'cache-control': `${scope}, max-age=60`, vary };
  if (context.headers['if-none-match'] === etag)
    return new Reply(undefined, { status: 304, headers });
  return new Reply(card, { headers });
}

function agentCard(agent: AgentInfo, context: RouteContext): JsonObject {
  const { name, description } = agent;
  const { a2a, tokens } = context;
  const url = `${baseUrl(context)}/agents/name/${encodeURIComponent(name)}/a2a`;
  const bindings = ['JSONRPC', 'HTTP+JSON'];
  return {
    ...{ name, description: description || `The agent ${name}`, version: a2a?.version ?? '1.0.0' },
    supportedInterfaces: bindings.map((protocolBinding) => ({
      ...{ url, protocolBinding, protocolVersion },
    })),
    capabilities: {
      streaming: true,
      pushNotifications: context.push !== undefined,
      extendedAgentCard: false,
    },
    ...(tokens.isRequired && {
      securitySchemes: { token: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
      securityRequirements: [{ schemes: { token: { list: [] } } }],
    }),
    defaultInputModes: inputModes,
    defaultOutputModes: ['text/plain', 'application/json'],
    skills: skillsOf(agent),
  };
}

/** Returns the skills of an agent: the tools of an agent without a model, or the agent itself. */
function skillsOf(agent: AgentInfo): JsonObject[] {
  return toolsOfAgent(agent).map(({ called, description }) => ({
    ...{ id: called ?? agent.name, name: called ?? agent.name },
    description:
      called === undefined ? agent.description || `The agent ${agent.name}` : description,
    tags: [called === undefined ? 'agent' : 'tool'],
  }));
}
