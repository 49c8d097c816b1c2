import { isJsonObject, type JsonObject, type JsonValue } from '@millrace/core';
import type { ClientAbility } from '../../contract/served-agent.ts';
import type { AgentInfo } from '../../contract/task.ts';
import type { RouteContext } from '../../http/route.ts';
import { isOffered } from '../openai/open-response.ts';

/** A tool that the server offers: an agent that answers a message, or a tool of an agent without a model. */
export interface OfferedTool {
  readonly name: string;
  readonly agent: AgentInfo;
  /** The name of the tool in its agent. Undefined if the tool is the agent itself. */
  readonly called: string | undefined;
  /** True if a client with the tasks extension gets a task instead of the result. */
  readonly isLong: boolean;
  /** True if only clients with the tasks extension can call the tool. */
  readonly needsTask: boolean;
  /** True if the call returns the first questions of the tool, and the task comes after the answers. */
  readonly asksFirst: boolean;
  /** What the client must be able to do. */
  readonly needs: readonly ClientAbility[];
  /** True if a call changes nothing. The server does not keep the session of such a call. */
  readonly isReading: boolean;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/** Returns all tools that the caller can use, in the order in which the agents were created. */
export async function listTools({
  service,
}: Pick<RouteContext, 'service'>): Promise<readonly OfferedTool[]> {
  const page = { limit: 1000, pageNumber: 1, orderBy: 'created_at', direction: 'asc' } as const;
  const agents = (await service.agents.list(page)).data.filter(isOffered);
  const used = new Set<string>();
  const named = (tool: OfferedTool): OfferedTool => {
    // Two agents can have tools with the same name.
    const name = used.has(tool.name) ? `${tool.agent.name}.${tool.name}` : tool.name;
    used.add(name);
    return { ...tool, name };
  };
  return [
    ...agents.filter((agent) => ownTools(agent) === undefined).map(agentTool),
    ...agents.filter((agent) => ownTools(agent) !== undefined).flatMap(toolsOfAgent),
  ].map(named);
}

/** Returns the tools of an agent without a model, or the agent itself as a tool. */
export function toolsOfAgent(agent: AgentInfo): readonly OfferedTool[] {
  return ownTools(agent)?.flatMap(readTool(agent)) ?? [agentTool(agent)];
}

function ownTools({ registration_metadata: metadata }: AgentInfo): JsonValue[] | undefined {
  const tools = metadata?.['tools'];
  return Array.isArray(tools) ? tools : undefined;
}

function agentTool(agent: AgentInfo): OfferedTool {
  const { name, description } = agent;
  return {
    ...{ name, agent, called: undefined, isLong: true, isReading: false },
    ...{ needsTask: false, asksFirst: false, needs: [] },
    description: `${description || `The agent ${name}`}. Sends a message to this agent and returns its answer`,
    inputSchema: agentInput,
  };
}

function readTool(agent: AgentInfo): (value: JsonValue) => readonly OfferedTool[] {
  return (value) => {
    if (!isJsonObject(value)) return [];
    const { name, description, input_schema: schema, effects, needs } = value;
    if (typeof name !== 'string' || !isJsonObject(schema)) return [];
    return [
      {
        ...{ name, agent, called: name, isReading: effects === 'none' },
        isLong: value['is_long'] === true,
        needsTask: value['needs_task'] === true,
        asksFirst: value['asks_first'] === true,
        needs: Array.isArray(needs) ? (needs as readonly ClientAbility[]) : [],
        ...{ description: String(description ?? ''), inputSchema: schema },
      },
    ];
  };
}

const agentInput: JsonObject = {
  type: 'object',
  properties: {
    message: {
      type: 'string',
      description:
        'The message. Leave it out to wait for the current run of the session and to get its answer',
    },
    session_id: {
      type: 'string',
      description: 'Continues this session, from an earlier result. Default: a new session',
    },
  },
  additionalProperties: false,
};

/** The statuses of a run in a result. */
export const runStatuses = ['completed', 'waiting', 'stopped', 'failed'] as const;

const agentOutput: JsonObject = {
  type: 'object',
  properties: {
    answer: { type: 'string', description: 'The last text of the agent' },
    session_id: { type: 'string', description: 'Continues the session in a later call' },
    status: {
      type: 'string',
      enum: [...runStatuses],
      description: 'With `waiting`, a person has to answer a question of the agent first',
    },
  },
  required: ['answer', 'session_id', 'status'],
};

/** Returns a tool as `tools/list` shows it. */
export function toolDefinition(tool: OfferedTool): JsonObject {
  const { name, description, inputSchema, called, isReading } = tool;
  return {
    ...{ name, description, inputSchema: { type: 'object', ...inputSchema } },
    ...(called === undefined && { outputSchema: agentOutput }),
    annotations: { readOnlyHint: isReading, ...(called === undefined && { openWorldHint: true }) },
  };
}
