/**
 * The descriptions of path and query parameters, by name, for the OpenAPI document. A name has the same
 * meaning in all routes. A field with its own description overrides it.
 */
export const parameterDocs: Readonly<Record<string, string>> = {
  agent_id: 'The id of the agent',
  agent_name: 'The name of the agent: lower case letters, digits and hyphens',
  task_id: 'The id of the task',
  task_name: 'The name that the task got when it was created',
  message_id: 'The id of the message',
  event_id: 'The id of the event',
  state_id: 'The id of the state',
  span_id: 'The id of the span',
  trace_id: 'The id of the trace. Default: spans of all traces',
  tracker_id: 'The id of the tracker',
  token_id: 'The id of the token. It is not the token itself',
  chat_id: 'The id of the chat in useChat. It is the name of its task',
  hash: 'The SHA-256 of the bytes, as 64 hexadecimal digits. Messages and records contain it',
  limit: 'Maximum number of entries on the page',
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
  incarnation:
    'The part after the hyphen in the ids of the stream. With it, the server refuses the request if the log was rewound',
  turn: 'The number of the turn, starting with 1',
  attempt: 'The number of the attempt at the request of the turn, starting with 1',
  filters:
    'Lists only messages that match, as a JSON list of { content, streaming_status, exclude }',
  last_processed_event_id: 'Lists only events after this one',
};
