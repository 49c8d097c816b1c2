import { z } from 'zod';
import { ServerError } from '../../contract/server-error.ts';
import type { AgentInfo } from '../../contract/task.ts';
import { type Route, type RouteContext, route } from '../../http/route.ts';
import { CompletionView, completionOf } from './completion-view.ts';
import { conversationRoutes, itemListSchema, itemPage, itemQuery } from './conversation-routes.ts';
import { isOffered, modelsOf, openResponse } from './open-response.ts';
import { modelNotFound, notFound } from './openai-error.ts';
import {
  completionBodySchema,
  type DoorRequest,
  readCompletionBody,
  readResponseBody,
  responseBodySchema,
} from './request-body.ts';
import { eventsOf, type OpenedResponse } from './response-events.ts';
import { readQuestion } from './response-log.ts';
import { isOnlyResponse, parseResponseId, type ResponseRef } from './response-starts.ts';
import {
  inputItems,
  readResource,
  sendResponse,
  stopResponse,
  streamResponse,
} from './write-response.ts';

const responseSchema = z.looseObject({
  id: z.string(),
  object: z.literal('response'),
  status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  model: z.string(),
  output: z.array(z.looseObject({ type: z.string() })),
});
const completionSchema = z.looseObject({
  id: z.string(),
  object: z.enum(['chat.completion', 'chat.completion.chunk']),
  model: z.string(),
  choices: z.array(z.looseObject({ index: z.int() })),
});
const modelSchema = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
});

const responseParams = z.object({ response_id: z.string().min(1).max(2048) });
const json = (value: unknown) => [JSON.stringify(value)];

/**
 * Endpoints in the format of OpenAI and Open Responses. A model is an agent. A response is a part of a
 * session, and its id names the session.
 *
 * - `previous_response_id` and `conversation` continue a session. Without them, a request starts one.
 * - If the connection of a response without `background` closes, the run stops.
 * - The tools of a request are tools that the caller runs. Calls of the agent's own tools are items of the
 *   type `mcp_call`, and their approvals are items of the type `mcp_approval_request`.
 */
export const openAiRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/responses',
    summary:
      'Create a response in the format of OpenAI. The model is the name of an agent. With `stream: true` the reply is a stream of events',
    headers: ['idempotency-key'],
    body: responseBodySchema,
    isLarge: true,
    reply: responseSchema,
    async handle({ body }, context) {
      const request = readResponseBody(body);
      const opened = await openNew(request, context);
      const isDeleted = !request.isStored;
      const { isBackground } = request;
      if (request.isStream) {
        const options = { lines: json, isNamed: true, stopsOnClose: !isBackground, isDeleted };
        return streamResponse(opened, options, context);
      }
      if (isBackground) return (await readResource(opened, context)).resource;
      return sendResponse(opened, (last) => last, { stopsOnClose: true, isDeleted }, context);
    },
  }),
  route({
    method: 'GET',
    path: '/v1/responses/{response_id}',
    summary:
      'Get a response. With `stream=true` the reply is a stream of its events, after the event `starting_after`',
    params: responseParams,
    query: z.object({
      stream: z.boolean().optional().describe('True for a stream of events'),
      starting_after: z
        .int()
        .optional()
        .describe('The sequence number of the last received event. Default: all events'),
      include: z.array(z.string()).optional().describe('Additional content. It is ignored'),
      include_obfuscation: z.boolean().optional().describe('It is ignored'),
    }),
    reply: responseSchema,
    async handle({ params, query }, context) {
      const opened = await find(params.response_id, context);
      if (query.stream !== true) return (await readResource(opened, context)).resource;
      const options = { lines: json, isNamed: true, stopsOnClose: false };
      return streamResponse(opened, { ...options, after: query.starting_after }, context);
    },
  }),
  route({
    method: 'POST',
    path: '/v1/responses/{response_id}/cancel',
    summary: 'Stop a response. Its partial output stays in the session',
    params: responseParams,
    reply: responseSchema,
    async handle({ params }, context) {
      const opened = await find(params.response_id, context);
      const { resource } = await readResource(opened, context);
      if (resource.status === 'cancelled') return resource;
      if (!['queued', 'in_progress'].includes(resource.status)) throw alreadyOver(resource.status);
      await stopResponse(opened.question, context);
      let last: object = resource;
      for await (const { response } of eventsOf(opened, context, context.closing))
        last = response ?? last;
      return last;
    },
  }),
  route({
    method: 'GET',
    path: '/v1/responses/{response_id}/input_items',
    summary:
      'List the items that a response answers: the messages, reasoning and calls of its session before the response, and the input of its request',
    params: responseParams,
    query: itemQuery,
    reply: itemListSchema,
    async handle({ params, query }, context) {
      const opened = await find(params.response_id, context);
      return itemPage(await inputItems(opened, context), query);
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/responses/{response_id}',
    summary:
      'Delete a response with its session. A session with other responses is not deleted, because they depend on this one',
    params: responseParams,
    reply: z.object({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) }),
    async handle({ params: { response_id: id } }, context) {
      const { question } = await find(id, context);
      if (!(await isOnlyResponse(question, context.log))) throw isNeeded(id, question.taskId);
      await context.service.tasks.delete(question.taskId);
      return { id, object: 'response', deleted: true };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/chat/completions',
    summary:
      'Create a chat completion in the format of OpenAI. The model is the name of an agent. With `stream: true` the reply is a stream of chunks',
    headers: ['idempotency-key'],
    body: completionBodySchema,
    isLarge: true,
    reply: completionSchema,
    async handle({ body }, context) {
      const request = readCompletionBody(body);
      const opened = await openNew(request, context);
      const model = request.model ?? opened.agent;
      const options = { stopsOnClose: true, isDeleted: !request.isStored };
      if (!request.isStream)
        return sendResponse(opened, (last) => completionOf(last, model), options, context);
      const includesUsage = body.stream_options?.['include_usage'] === true;
      const view = new CompletionView({ model, includesUsage });
      const lines = (event: Parameters<typeof view.add>[0]) => view.add(event).flatMap(json);
      return streamResponse(opened, { ...options, lines, isNamed: false }, context);
    },
  }),
  route({
    method: 'GET',
    path: '/v1/models',
    summary: 'List the agents as models, in the format of OpenAI',
    reply: z.object({ object: z.literal('list'), data: z.array(modelSchema) }),
    async handle(_, context) {
      const data = (await allAgents(context)).flatMap(toModels);
      return { object: 'list', data };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/models/{model}',
    summary: 'Get an agent as a model, in the format of OpenAI',
    params: z.object({ model: z.string().min(1).max(512).describe('The id of the model') }),
    reply: modelSchema,
    async handle({ params: { model } }, context) {
      const found = (await allAgents(context)).flatMap(toModels).find(({ id }) => id === model);
      if (found === undefined) throw modelNotFound(model);
      return found;
    },
  }),
  ...conversationRoutes,
];

async function allAgents({ service }: RouteContext): Promise<readonly AgentInfo[]> {
  const page = { limit: 1000, pageNumber: 1, orderBy: 'created_at', direction: 'asc' } as const;
  return (await service.agents.list(page)).data.filter(isOffered);
}

/** Returns the agent as a model, and each of its models as `agent/model`. */
function toModels(agent: AgentInfo) {
  const created = Math.floor(Date.parse(agent.created_at) / 1000) || 0;
  const ids = [agent.name, ...modelsOf(agent).map((model) => `${agent.name}/${model}`)];
  return ids.map((id) => ({ id, object: 'model' as const, created, owned_by: 'millrace' }));
}

async function open(ref: ResponseRef, { service, log }: RouteContext): Promise<OpenedResponse> {
  const task = await service.tasks.get({ id: ref.taskId });
  const agent = task.agents?.[0]?.name ?? 'agent';
  return { question: await readQuestion(ref, log), agent };
}

/**
 * Sends a request to its session. Refuses a repeated idempotency key if `store` of the first request had a
 * different value.
 */
async function openNew(request: DoorRequest, context: RouteContext): Promise<OpenedResponse> {
  const opened = await open(await openResponse(request, context), context);
  const { isMessage, echo } = opened.question;
  // A request with `store: false` deletes its session at its end. It must not delete the session of an earlier
  // request that is stored.
  if (isMessage && (echo['store'] !== false) !== request.isStored)
    throw new ServerError(
      'conflict',
      'Cannot use this idempotency key: it belongs to a request with another value of store',
    );
  return opened;
}

async function find(id: string, context: RouteContext): Promise<OpenedResponse> {
  const ref = parseResponseId(id);
  const missing = () => notFound('Response', id, 'response_id');
  if (ref === undefined) throw missing();
  return open(ref, context).catch((error: unknown) => {
    throw error instanceof ServerError && error.code === 'not_found' ? missing() : error;
  });
}

function isNeeded(id: string, taskId: string): ServerError {
  const message = `Cannot delete ${JSON.stringify(id.slice(0, 256))}: other responses of the conversation ${taskId} depend on it. Delete the whole conversation with DELETE /tasks/${taskId}`;
  const details = { param: 'response_id', reason: 'response_in_use' };
  return new ServerError('conflict', message, {}, { details });
}

function alreadyOver(status: string): ServerError {
  const message = `Cannot cancel a response with the status ${status}. Only a response that is queued or in progress can be cancelled`;
  return new ServerError('bad_state', message, {}, { details: { param: 'response_id' } });
}
