import { z } from 'zod';
import { contentBodySchema, contentSchema } from '../contract/content.ts';
import { taskMessageSchema } from '../contract/message.ts';
import { namedStreamSchemas } from '../contract/stream-schemas.ts';
import {
  agentInfoSchema,
  spanSchema,
  taskEventSchema,
  taskResponseSchema,
  taskSchema,
  taskStateSchema,
  taskSummarySchema,
  trackerSchema,
} from '../contract/task.ts';
import { type QueryKind, queryKindOf } from './request-input.ts';
import { headerParameter, type Route } from './route.ts';

/** The version of the API document. Agentex clients reject versions below 0.1.0. */
const apiVersion = '0.1.0';

type Json = Readonly<Record<string, unknown>>;

/** The schemas that have their own name in the document. Requests and responses use them. */
const namedSchemas: readonly (readonly [string, z.ZodType])[] = [
  ['Agent', agentInfoSchema],
  ['Content', contentSchema],
  ['Task', taskSchema],
  ['TaskResponse', taskResponseSchema],
  ['TaskSummary', taskSummarySchema],
  ['TaskMessage', taskMessageSchema],
  ['Event', taskEventSchema],
  ['State', taskStateSchema],
  ['Span', spanSchema],
  ['Tracker', trackerSchema],
  ...namedStreamSchemas,
];

const errorSchema = z.object({
  message: z.string(),
  code: z.int().optional(),
  status_code: z.int().optional(),
  data: z.null(),
  error: z.looseObject({ code: z.string() }),
});

/**
 * Creates the OpenAPI document for a list of routes. `basePath` is the path at which the routes are mounted.
 */
export function createOpenApiDocument(routes: readonly Route[], basePath = ''): Json {
  const schemas = new Schemas();
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const operation = { [route.method.toLowerCase()]: createOperation(route, schemas) };
    // OpenAPI has no parameters with several segments.
    const path = route.path.replace('*}', '}');
    paths[path] = { ...paths[path], ...operation };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version: apiVersion,
      description: 'Agents as a service: tasks, messages, and streams that clients can resume.',
    },
    ...(basePath !== '' && { servers: [{ url: basePath }] }),
    paths,
    components: {
      schemas: schemas.all(),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        agentKey: { type: 'apiKey', in: 'header', name: 'x-agent-api-key' },
      },
    },
    security: [{ bearer: [] }, { agentKey: [] }, {}],
  };
}

function createOperation(route: Route, schemas: Schemas): Json {
  const { method, path, summary, body, status = 200, replyType = 'application/json' } = route;
  const id = operationId(method, path);
  const reply = { schema: schemas.add(`${id}_reply`, route.reply, 'output') };
  return {
    operationId: id,
    summary,
    tags: [path.split('/')[1]],
    parameters: [
      ...parametersOf(route, 'path'),
      ...parametersOf(route, 'query'),
      ...(route.headers ?? []).map(headerParameter),
    ],
    ...(route.takesFile && { requestBody: { required: true, content: fileContent } }),
    ...(route.takesAny && { requestBody: { required: false, content: anyContent } }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: route.isBodyOptional !== true,
            content: {
              'application/json': { schema: schemas.add(`${id}_body`, body, 'input') },
            },
          },
        }),
    responses: {
      [status]: { description: 'Success', content: { [replyType]: reply } },
      default: {
        description: 'Error, with the reason',
        content: { 'application/json': { schema: schemas.add('Error', errorSchema, 'output') } },
      },
    },
    ...(route.access === 'public' ? { security: [] } : {}),
  };
}

const fileContent = {
  'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
};

const anyContent = { '*/*': { schema: { type: 'string', format: 'binary' } } };

function operationId(method: string, path: string): string {
  const words = path
    .replaceAll(/[{}*]/g, '')
    .split(/[/._-]/)
    .filter(Boolean);
  return [method.toLowerCase(), ...words].join('_');
}

function parametersOf(route: Route, place: 'path' | 'query'): readonly Json[] {
  const fields = (place === 'path' ? route.params : route.query)?.shape ?? {};
  return Object.entries(fields).map(([name, field]) => {
    const schema = jsonSchemaOf(field as z.ZodType, 'input');
    const required = place === 'path' || !(field as z.ZodType).safeParse(undefined).success;
    const description = (field as z.ZodType).description ?? parameterDocs[name];
    return {
      name,
      in: place,
      required,
      ...(description !== undefined && { description }),
      ...parameterStyle(queryKindOf(field as z.ZodType), schema),
    };
  });
}

/** Returns the OpenAPI fields that describe a query parameter of this kind. */
function parameterStyle(kind: QueryKind, schema: Json): Json {
  if (kind === 'json') return { content: { 'application/json': { schema } } };
  return kind === 'list' ? { style: 'form', explode: false, schema } : { schema };
}

function jsonSchemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return json;
}

/** Collects the schemas to which the document refers, each one once. */
class Schemas {
  readonly #inputs = z.registry<{ id: string }>();
  readonly #outputs = z.registry<{ id: string }>();

  constructor() {
    for (const [id, schema] of namedSchemas) {
      this.#outputs.add(schema, { id });
      this.#inputs.add(schema === contentSchema ? contentBodySchema : schema, {
        id: `${id}Input`,
      });
    }
  }

  add(id: string, schema: z.ZodType, io: 'input' | 'output'): Json {
    const registry = io === 'input' ? this.#inputs : this.#outputs;
    const known = registry.get(schema)?.id ?? id;
    registry.add(schema, { id: known });
    return { $ref: refTo(known) };
  }

  all(): Json {
    return { ...schemasOf(this.#inputs, 'input'), ...schemasOf(this.#outputs, 'output') };
  }
}

function schemasOf(registry: z.core.$ZodRegistry<{ id: string }>, io: 'input' | 'output'): Json {
  const { schemas } = z.toJSONSchema(registry, { io, uri: refTo, unrepresentable: 'any' });
  return Object.fromEntries(
    Object.entries(schemas).map(([id, { $schema: _, $id: __, id: ___, ...schema }]) => [
      id,
      schema,
    ]),
  );
}

function refTo(id: string): string {
  return `#/components/schemas/${id}`;
}

/**
 * The descriptions of path and query parameters, by name, for the OpenAPI document. A name has the same
 * meaning in all routes. A description in the schema of a field overrides the one here.
 */
const parameterDocs: Readonly<Record<string, string>> = {
  agent_id: 'The id of the agent',
  agent_name: 'The name of the agent: lower case letters, digits and hyphens',
  task_id: 'The id of the task',
  session_id: 'The id of the session of a sub-agent of the task',
  task_name: 'The name that the task got when it was created',
  message_id: 'The id of the message',
  event_id: 'The id of the event',
  state_id: 'The id of the state',
  span_id: 'The id of the span',
  trace_id: 'The id of the trace. Default: spans of all traces',
  tracker_id: 'The id of the tracker',
  token_id: 'The id of the token. It is not the token itself',
  chat_id: 'The id of the chat in useChat. It is the name of its task',
  thread_id: 'The id of the thread of AG-UI. It is the name or the id of its task',
  response_id: 'The id of the response',
  conversation_id: 'The id of the conversation, which is the id of a task',
  hash: 'The SHA-256 of the bytes, as 64 hexadecimal digits. Messages and records contain it',
  file_id: 'The id of the uploaded file',
  name: 'The name of the file',
  type: 'The media type of the file',
  limit: 'Maximum number of entries on the page. A page of large entries can have fewer',
  page_number: 'The number of the page, starting with 1. `cursor` is faster for long lists',
  order_by: 'The time by which the list is sorted',
  order_direction: '`desc` lists the newest entry first, `asc` the oldest',
  cursor: 'The value of the header x-next-cursor, or the cursor, of the previous page',
  direction: '`older` continues with earlier entries, `newer` with later ones',
  status: 'Lists only tasks with this status',
  task_metadata: 'Lists only tasks whose metadata has all these fields, as a JSON object',
  relationships: 'What each task also contains: `agents`, or `work` (what the agent does now)',
  view: 'What the stream contains: updates of messages, events of the agent, records of the log, or chunks of the AI SDK',
  from: 'The position after which the answer starts. 0 is the start of the log. For streams, it is the id of an event, and the header last-event-id takes precedence',
  other: 'The task to compare with. Default: the task that this task is a branch of',
  start:
    'Where a stream of records without `from` starts: at the `first` record, or at a `recent` run of a long log. `after` of the first batch is the offset before the first record that the stream contains',
  incarnation:
    'The part after the hyphen in the ids of the stream. With it, the server refuses the request if the log was rewound',
  turn: 'The number of the turn, starting with 1',
  attempt: 'The number of the attempt at the request of the turn, starting with 1',
  filters:
    'Lists only messages that match, as a JSON list of { content, streaming_status, exclude }',
  last_processed_event_id: 'Lists only events after this one',
};
